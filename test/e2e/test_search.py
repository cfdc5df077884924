"""Searches end to end: real trials, their metrics file, early stopping, crashes."""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import kill

ROOT = pathlib.Path(__file__).resolve().parents[2]

PARABOLA = """
name: parabola
steps:
  search:
    params: {x: {uniform: [-5, 5]}, y: {uniform: [-5, 5]}}
    search: {metric: loss, mode: min, max_trials: 30, method: tpe}
    resources: {cpus: 0.5}
    run: |
      awk 'BEGIN { printf "{\\"step\\": 1, \\"loss\\": %.6f}\\n", ({{x}} - 1)^2 + ({{y}} + 2)^2 }' >> "$RUNNEL_METRICS_FILE"
  use:
    depends_on: search
    resources: {cpus: 0.5}
    run: echo "x={{best.search.x}} y={{best.search.y}}"
"""

# Trial i reports ten losses around i, the lowest being best, and goes on where its checkpoint is.
LADDER = """
name: ladder
params: {level: {range: [1, 40]}}
search: {metric: loss, mode: min, max_trials: 12, method: random, pruner: {method: asha, eta: 2, max_step: 8}, parallel: 2}
checkpoint: {dir: ckpt}
resources: {cpus: 0.5}
run: |
  at=$(cat "$RUNNEL_CHECKPOINT_DIR/at" 2>/dev/null || echo 0)
  echo "from $at"
  while [ "$at" -lt 8 ]; do
    at=$((at + 1))
    echo "$at" > "$RUNNEL_CHECKPOINT_DIR/at.part" && mv "$RUNNEL_CHECKPOINT_DIR/at.part" "$RUNNEL_CHECKPOINT_DIR/at"
    echo "{\\"step\\": $at, \\"loss\\": $(( {{level}} * 10 - at ))}" >> "$RUNNEL_METRICS_FILE"
    sleep 0.1
  done
"""


def search_of(document, step="search"):
    return next(each["search"] for each in document["steps"] if each["name"] == step)


def test_a_search_finds_and_hands_over_its_best(runnel):
    out = runnel.run("run", runnel.file(PARABOLA))
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    best = search_of(runnel.job(job))["best"]
    assert best["values"]["loss"] < 6
    assert f"x={best['params']['x']} y={best['params']['y']}" in out
    tasks = runnel.json("show", job, "--tasks", "--step", "search", "--limit", "100")["tasks"]
    assert min(task["report"]["values"]["loss"] for task in tasks) == best["values"]["loss"]
    assert len({json.dumps(task["params"]) for task in tasks}) == 30


RETRIED = """
params: {level: [1, 5]}
search: {metric: loss, mode: min, max_trials: 2, method: grid}
retry: {max: 1}
resources: {cpus: 0.5}
run: |
  case {{level}}/$RUNNEL_ATTEMPT in
    1/1) for step in 1 2 3 4 5; do echo "{\\"step\\": $step, \\"loss\\": 0.1}" >> "$RUNNEL_METRICS_FILE"; done; SLEEP; exit 1;;
    1/2) SLEEP; echo "{\\"step\\": 4, \\"loss\\": 9}" APPEND "$RUNNEL_METRICS_FILE";;
    *) echo "{\\"step\\": 5, \\"loss\\": 5}" >> "$RUNNEL_METRICS_FILE";;
  esac
"""


@pytest.mark.parametrize("append", [">>", ">"])
@pytest.mark.parametrize("sleep", ["sleep 0.2", "true"])
def test_the_best_is_what_the_attempt_that_counts_reported(runnel, append, sleep):
    """The first attempt reported the best of all and crashed; its retry did worse and ended well."""
    job = runnel.up(RETRIED.replace("APPEND", append).replace("SLEEP", sleep))
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED"
    best = search_of(document, "job")["best"]
    assert best["params"]["level"] == "5" and best["values"]["loss"] == 5
    reports = {task["params"]["level"]: task["report"] for task in runnel.json("show", job, "--tasks")["tasks"]}
    assert reports["1"]["step"] == 4 and reports["1"]["values"]["loss"] == 9
    series = {each["task"]: each["samples"] for each in runnel.json("metrics", job)["series"]}
    assert [sample["values"]["loss"] for sample in series[0]][-1] == 9


def test_a_retry_is_told_apart_after_a_restart_of_the_daemon(runnel):
    job = runnel.up(RETRIED.replace("APPEND", ">>").replace("SLEEP", "sleep 1"))
    runnel.until(lambda: runnel.json("show", job, "--tasks")["tasks"][0]["attempts"] == 2)
    kill(runnel.info()["daemon_pid"])
    assert search_of(runnel.wait(job), "job")["best"]["params"]["level"] == "5"


def test_metrics_as_table_csv_and_json(runnel):
    job = runnel.up(PARABOLA)
    runnel.wait(job)
    rows = list(csv.DictReader(io.StringIO(runnel.run("metrics", job, "--csv"))))
    assert len(rows) == 30 and rows[0]["metric"] == "loss"
    assert float(rows[7]["value"]) == runnel.json("metrics", job, "--task", "7")["series"][0]["samples"][0]["values"]["loss"]
    assert "CURVE" in runnel.run("metrics", job)
    assert runnel.run("metrics", job, "--metric", "los", code=1) == ""
    assert "no task has reported this metric" in runnel.err and "reported are loss" in runnel.err, runnel.err


def test_asha_parks_and_promotes_from_the_checkpoint(runnel):
    job = runnel.up(LADDER)
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED"
    events = [json.loads(line) for line in runnel.run("events", job, "-o", "json").splitlines()]
    kinds = [event["event"]["type"] if "event" in event else event["type"] for event in events]
    assert "trial.parked" in kinds and "trial.promoted" in kinds
    levels = {task["index"]: int(task["params"]["level"]) for task in runnel.json("show", job, "--tasks")["tasks"] if "params" in task}
    best = search_of(document, "ladder")["best"]
    assert levels[best["trial"]] == min(levels.values())
    # Trials that were promoted went on where they had stopped.
    again = [task for task in runnel.json("show", job, "--tasks")["tasks"] if task["attempts"] > 1]
    assert again
    for task in again:
        assert "from 0" not in runnel.run("logs", job, "--task", task["index"], "--attempt", task["attempts"])


def test_a_killed_daemon_loses_no_trial(runnel):
    job = runnel.up(LADDER)
    for _ in range(4):
        runnel.until(lambda: runnel.job(job)["status"] in ("RUNNING", "SUCCEEDED"))
        kill(runnel.info()["daemon_pid"])
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED"
    assert search_of(document, "ladder")["asked"] == 12
    assert "all to the same" in runnel.run("simulate", "--verify", runnel.home)


@pytest.mark.parametrize("line, reason, words", [
    ("", "MetricMissing", "never reported 'loss'"),
    ('{"los": 3}', "MetricMissing", "did you mean 'los'"),
    ('{"loss": NaN}', "MetricNotFinite", "'loss' is nan"),
    ("loss=3", "MetricMissing", "never reported 'loss': 1 line(s) of its metrics file are no JSON object"),
    ('{"step": 0.5, "loss": 3}', "MetricMissing", "with a whole step"),
])
def test_trials_without_a_value_fail_and_say_why(runnel, line, reason, words):
    job = runnel.up(f"""
name: bad
params: {{x: [1, 2]}}
search: {{metric: loss, mode: min, max_trials: 2, method: grid}}
run: |
  echo '{line}' >> "$RUNNEL_METRICS_FILE"
""")
    document = runnel.wait(job)
    assert document["status"] == "FAILED" and "no trial gave a value" in document["message"] or " failed, first task" in document["message"]
    task = runnel.json("show", job, "--task", "0")
    assert task["task"]["reason"] == reason
    assert words in json.dumps(task)


def test_a_misspelt_metric_is_named_while_the_trials_run(runnel):
    attached = runnel.start("run", runnel.file("""
params: {x: [1, 2]}
search: {metric: accuracy, mode: max, max_trials: 2, method: grid}
run: |
  echo '{"step": 1, "acuracy": 0.5}' >> "$RUNNEL_METRICS_FILE"
  sleep 600
"""))
    job = runnel.until(lambda: runnel.json("ps")["jobs"])[0]["id"]
    warning = runnel.until(lambda: runnel.job(job)["steps"][0].get("warnings"))[0]
    assert (warning["reason"], warning["action"]) == ("MetricMissing", "warn")
    assert "reported 'acuracy' at step 1 and not 'accuracy'" in runnel.run("show", job)
    runnel.run("cancel", job)
    _, err = attached.communicate(timeout=60)
    assert "warning: job/" in err and err.count("is that misspelt?") == 1, err


def test_a_search_that_succeeds_says_how_many_trials_failed(runnel):
    runnel.run("run", runnel.file("""
params: {x: [1, 2, 3]}
search: {metric: loss, mode: min, max_trials: 3, method: grid}
resources: {cpus: 0.5}
run: |
  test {{x}} = 2 && echo '{"step": 1, "loss": 0.5}' >> "$RUNNEL_METRICS_FILE" || exit 3
"""))
    assert "2 of 3 trials of job failed: NonZeroExit\n" in runnel.err


def test_report_from_python(runnel, tmp_path):
    script = runnel.work / "trial.py"
    script.write_text("import runnel\nfor step in range(3):\n    runnel.report(step=step, loss=float(runnel.params()['x']) + step, lr=float('nan'))\n")
    runnel.env["PYTHONPATH"] = str(ROOT / "python")
    job = runnel.up(f"""
name: python
params: {{x: [1, 2]}}
search: {{metric: loss, mode: min, method: grid}}
envs: {{PYTHONPATH: {ROOT / 'python'}}}
run: {sys.executable} trial.py
""")
    document = runnel.wait(job)
    best = search_of(document, "python")["best"]
    assert best["params"] == {"x": "1"} and best["values"]["loss"] == 3.0
    samples = runnel.json("metrics", job, "--task", "1")["series"][0]["samples"]
    assert samples[-1] == {"step": 2, "values": {"loss": 4.0, "lr": "nan"}}


def test_report_outside_of_runnel_does_nothing():
    code = "import runnel; assert not runnel.report(step=1, loss=0.5)"
    env = {name: value for name, value in os.environ.items() if not name.startswith("RUNNEL_")}
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(env, PYTHONPATH=str(ROOT / "python")))


def test_a_line_of_a_megabyte_is_passed_over_and_nothing_is_lost(runnel):
    job = runnel.up("""
name: long
params: {x: [1, 2]}
search: {metric: loss, mode: min, max_trials: 2, method: grid}
resources: {cpus: 0.5}
run: |
  echo '{"step": 1, "loss": 7}' >> "$RUNNEL_METRICS_FILE"
  { printf '{"step": 2, "loss": 1, "note": "'; head -c 1000000 /dev/zero | tr '\\0' x; echo '"}'; } >> "$RUNNEL_METRICS_FILE"
  echo '{"step": 3, "loss": {{x}}}' >> "$RUNNEL_METRICS_FILE"
""")
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED"
    assert search_of(document, "long")["best"]["values"] == {"loss": 1}
    series = runnel.json("metrics", job)["series"]
    assert [each["bad_lines"] for each in series] == [1, 1]
    assert [[sample["step"] for sample in each["samples"]] for each in series] == [[1, 3], [1, 3]]
    assert "all to the same" in runnel.run("simulate", "--verify", runnel.home)
