"""Metrics out of what programs print and out of their TensorBoard files, and searches that live on them."""

import csv
import io
import json
import math
import struct
import sys

import pytest
from conftest import kill

# As Caffe prints it, by a shell script.
CAFFE = r"""
name: caffe
metrics:
  log:
    train: 'Iteration %{INT:step} .*, loss = %{FLOAT:loss}'
    test:
      - '%{GLOG_STAMP:stamp}.*Iteration %{INT:step}, Testing net'
      - {regex: 'output #0: accuracy = %{FLOAT:accuracy}.*\n.*output #1: loss = %{FLOAT:loss}', lines: 2}
run: |
  stamp() { printf 'I0713 10:20:30.000001    77 solver.cpp:218] ' >&2; }
  for i in 0 100 200; do
    stamp; echo "Iteration $i (25 iter/s, 4s/100 iters), loss = $((300 - i)).5" >&2
    stamp; echo "Iteration $i, lr = 0.01" >&2
    stamp; echo "Iteration $i, Testing net (#0)" >&2
    stamp; echo "    Test net output #0: accuracy = 0.$i" >&2
    stamp; echo "    Test net output #1: loss = $((i * 2))e-2 (* 1 = 3 loss)" >&2
  done
  printf 'Iteration 300 (done), \033[1mloss = nan\033[0m' >&2
"""

# Trial x prints x * 10 - step as its loss, eight times, and writes no file.
PRINTED = """
name: printed
params: {x: {range: [1, 40]}}
search: {metric: train/loss, mode: min, max_trials: 12, method: random, pruner: {method: asha, eta: 2, max_step: 8}, parallel: 2}
metrics: {log: {train: 'step %{INT:step}: loss=%{FLOAT:loss}'}}
resources: {cpus: 0.5}
run: |
  for at in 1 2 3 4 5 6 7 8; do
    echo "step $at: loss=$(( {{x}} * 10 - at ))"
    sleep 0.1
  done
"""

WRITER = """
import os, sys, time
from tensorboardX import SummaryWriter
x = float(sys.argv[1])
for name in ("", "/validation"):
    with SummaryWriter(os.environ["RUNNEL_TASK_DIR"] + "/tb" + name, flush_secs=1) as writer:
        for step in range(1, 9):
            writer.add_scalar("loss", x / 3 + 1 / step, step)
            writer.add_scalar("rate", 1e-7 * step, step)
"""


def as_float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def courses(runnel, job, *words):
    """{metric: [(step, value)]} of one task."""
    series, = runnel.json("metrics", job, *words)["series"]
    found = {}
    for sample in series["samples"]:
        for name, value in sample["values"].items():
            found.setdefault(name, []).append((sample["step"], value))
    return found


def search_of(document):
    return document["steps"][0]["search"]


def tasks_of(runnel, job):
    return runnel.json("show", job, "--tasks", "--limit", "100")["tasks"]


def test_a_log_of_caffe_gives_the_numbers_of_its_groups(runnel):
    job = runnel.up(CAFFE)
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert courses(runnel, job) == {
        "train/loss": [(0, 300.5), (100, 200.5), (200, 100.5), (300, "nan")],
        "test/accuracy": [(0, 0.0), (100, 0.1), (200, 0.2)],
        "test/loss": [(0, 0), (100, 2), (200, 4)],
    }
    rows = list(csv.DictReader(io.StringIO(runnel.run("metrics", job, "--metric", "test/loss", "--csv"))))
    assert [row["step"] for row in rows] == ["0", "100", "200"]


def test_all_sources_are_one_set_of_series(runnel):
    job = runnel.up("""
name: mixed
metrics: {log: 'loss=%{FLOAT:loss}'}
retry: {max: 1}
run: |
  echo 'at step=1 loss=3'
  echo '{"step": 5, "accuracy": 0.5}' >> "$RUNNEL_METRICS_FILE"
  test "$RUNNEL_ATTEMPT" = 2
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert courses(runnel, job) == {"loss": [(0, 3)], "accuracy": [(5, 0.5)]}, "a step that is told again is one"


def test_many_tasks_that_leave_nothing_but_their_output(runnel):
    job = runnel.up("""
name: many
params: {x: {range: [0, 119]}}
metrics: {log: 'value (?P<value>[0-9]+)'}
resources: {cpus: 0.1}
run: 'test {{x}} -lt 60 || echo value {{x}}'
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    series = runnel.json("metrics", job)["series"]
    assert [(each["task"], each["samples"][0]["values"]["value"]) for each in series] == [(i, i) for i in range(60, 120)]
    assert runnel.json("metrics", job, "--task", "77")["series"][0]["samples"] == [{"step": 0, "values": {"value": 77}}]


def test_scalars_of_tensorboard_equal_their_source(runnel):
    (runnel.work / "trial.py").write_text(WRITER)
    job = runnel.up(f"""
name: board
metrics: {{tensorboard: tb}}
run: |
  {sys.executable} trial.py 2
  printf torn >> "$(ls "$RUNNEL_TASK_DIR"/tb/events*)"
  mkdir "$RUNNEL_TASK_DIR/tb/bad" && head -c 64 /dev/zero > "$RUNNEL_TASK_DIR/tb/bad/tfevents"
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("logs", job)
    found = courses(runnel, job)
    assert sorted(found) == ["loss", "rate", "validation/loss", "validation/rate"]
    for prefix in ("", "validation/"):
        for name, source in (("loss", lambda step: 2 / 3 + 1 / step), ("rate", lambda step: 1e-7 * step)):
            assert [step for step, _ in found[prefix + name]] == list(range(1, 9))
            for step, value in found[prefix + name]:
                assert math.isclose(value, source(step), rel_tol=1e-7)
                assert as_float32(value) == as_float32(source(step))
    runnel.run("metrics", job)
    assert "1 record(s) of its TensorBoard files are damaged" in runnel.err


def test_a_search_over_programs_that_only_print_finds_its_best(runnel):
    job = runnel.up(PRINTED)
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED"
    tasks = tasks_of(runnel, job)
    least = min(int(task["params"]["x"]) for task in tasks)
    assert search_of(document)["best"]["params"] == {"x": str(least)}
    assert search_of(document)["best"]["values"]["train/loss"] == least * 10 - 8
    stopped = [task for task in tasks if task["status"] == "PRUNED"]
    whole = [task for task in tasks if task["status"] == "SUCCEEDED"]
    assert stopped and whole and len(tasks) == 12
    # Judged at a rung and stopped there, not at the end.
    assert {task["report"]["step"] for task in stopped} <= set(range(1, 8))
    assert all(task["report"]["step"] == 8 for task in whole)
    assert "all to the same" in runnel.run("simulate", "--verify", runnel.home)


def test_a_killed_daemon_reads_on_where_trials_print(runnel):
    job = runnel.up(PRINTED)
    for _ in range(3):
        runnel.until(lambda: runnel.job(job)["status"] in ("RUNNING", "SUCCEEDED"))
        kill(runnel.info()["daemon_pid"])
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED" and search_of(document)["asked"] == 12
    for task in tasks_of(runnel, job):
        assert task["status"] in ("SUCCEEDED", "PRUNED")
        assert task["report"]["values"]["train/loss"] == int(task["params"]["x"]) * 10 - task["report"]["step"]


def test_a_search_over_tensorboard_files_finds_its_best(runnel):
    (runnel.work / "trial.py").write_text(WRITER)
    job = runnel.up(f"""
name: board
params: {{x: [6, 3, 9]}}
search: {{metric: validation/loss, mode: min, method: grid, pruner: median, parallel: 1}}
metrics: {{tensorboard: tb}}
resources: {{cpus: 1}}
run: {sys.executable} trial.py {{{{x}}}}
""")
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED", runnel.run("logs", job)
    best = search_of(document)["best"]
    assert best["params"] == {"x": "3"} and math.isclose(best["values"]["validation/loss"], 1.125, rel_tol=1e-7)
    assert all(task["report"]["step"] == 8 for task in tasks_of(runnel, job))


def test_a_steps_own_count_decides_where_another_source_counts_further(runnel):
    job = runnel.up("""
name: two
params: {x: [1, 2]}
search: {metric: accuracy, mode: max, method: grid}
metrics: {log: {train: 'iteration %{INT:step} loss %{FLOAT:loss}'}}
run: |
  for epoch in 1 2 3; do
    echo "iteration $((epoch * 1000)) loss 0.5"
    echo "{\\"step\\": $epoch, \\"accuracy\\": {{x}}}" >> "$RUNNEL_METRICS_FILE"
  done
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert [task["report"]["step"] for task in tasks_of(runnel, job)] == [3, 3]


def test_a_trial_that_prints_another_name_hears_what_it_printed(runnel):
    job = runnel.up("""
name: other
params: {x: [1]}
search: {metric: test/los, mode: min, method: grid}
metrics: {log: {test: 'loss %{FLOAT:loss}'}}
run: echo loss 3
""")
    assert runnel.wait(job)["status"] == "FAILED"
    task = runnel.json("show", job, "--task", "0")
    assert task["task"]["reason"] == "MetricMissing"
    assert "did you mean 'test/loss'" in json.dumps(task)


@pytest.mark.parametrize("metrics, words", [
    ("{log: 'loss %{FLAOT:loss}'}", "did you mean `FLOAT`?"),
    ("{tensorboard: /tmp/tb}", "leaves the task's folder"),
])
def test_what_cannot_be_is_refused_with_its_place(runnel, metrics, words):
    runnel.run("validate", "-f", runnel.file(f"metrics: {metrics}\nrun: 'true'\n"), code=2)
    assert "job.yaml:1:" in runnel.err and words in runnel.err
