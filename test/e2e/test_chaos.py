"""A job whose processes are killed on purpose comes to the same result."""

import json
import pathlib
import re

import pytest

from conftest import JOB_ENDS_S, kill

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
QUICKSTART = EXAMPLES / "quickstart"

# The training of the quickstart with a winner that is given, over few images of noise.
TRAINING = f"""
workdir: {QUICKSTART}
steps:
  data:
    resources: {{cpus: 1}}
    run: |
      python3 - <<'END'
      import numpy
      from fashion import SHARED
      numbers = numpy.random.default_rng(1)
      numpy.save(SHARED / "train-images.npy", numbers.normal(size=(11_000, 1, 28, 28)).astype(numpy.float32))
      numpy.save(SHARED / "train-labels.npy", numbers.integers(0, 10, 11_000))
      END
  train:
    depends_on: data
    num_nodes: 2
    resources: {{cpus: 1}}
    checkpoint: {{dir: ckpt}}
    retry: {{max: 3}}
    run: python3 train.py --epochs 4 --lr 0.05 --width 8
"""


def samples(runnel, job):
    series = runnel.json("metrics", job, "--step", "train")["series"]
    return [json.dumps(sample, sort_keys=True) for each in series for sample in each["samples"]]


def processes_of(job, step):
    """The processes of a step by what they began with, the latest last."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"RUNNEL_JOB_ID={job}".encode() in environment and f"RUNNEL_STEP={step}".encode() in environment:
            found.append(int(folder.name))
    return sorted(found)


@pytest.mark.long
def test_a_killed_gang_trains_to_the_same_metrics(runnel):
    runnel.use_python_of_the_project()
    unbroken = runnel.up(TRAINING)
    assert runnel.wait(unbroken)["status"] == "SUCCEEDED", runnel.run("logs", unbroken)
    job = runnel.up(TRAINING)
    runnel.until(lambda: "epoch 2 " in runnel.run("logs", job), timeout=JOB_ENDS_S)
    kill(processes_of(job, "train")[-1])
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("logs", job)
    assert "goes on after epoch" in runnel.run("logs", job)
    assert samples(runnel, job) == samples(runnel, unbroken)


def losses_of(runnel, job, step):
    tasks = runnel.json("show", job, "--step", step, "--limit", "20")["tasks"]
    return sum(max(task["attempts"] - 1, 0) for task in tasks)


def kill_one(runnel, job, step, line):
    """Kills a process of the step once the log holds the line; another, where the first had just ended."""
    runnel.until(lambda: line in runnel.run("logs", job), timeout=JOB_ENDS_S)
    before = losses_of(runnel, job, step)

    def is_felt():
        return losses_of(runnel, job, step) > before or runnel.job(job)["status"] == "SUCCEEDED"

    while not is_felt():
        kill(runnel.until(lambda: processes_of(job, step) or [None])[-1])
        try:
            runnel.until(is_felt, timeout=2)
        except AssertionError:
            continue


def test_text_becomes_the_same_tokens_whoever_is_killed(runnel):
    one_by_one = runnel.json("up", "-f", EXAMPLES / "text.yaml", "-e", "FILES=2000", "--cpus", "2")["id"]
    assert runnel.wait(one_by_one)["status"] == "SUCCEEDED"
    for _ in range(5):  # A task may be over before a busy machine comes to the kill.
        job = runnel.json("up", "-f", EXAMPLES / "text.yaml", "-e", "FILES=2000")["id"]
        for line in ("2000 files", "shard 0", "shard 3"):
            kill_one(runnel, job, "tokenise", line)
        document = runnel.wait(job)
        assert document["status"] == "SUCCEEDED", runnel.run("logs", job)
        if losses_of(runnel, job, "tokenise") > 0:
            break
    digests = [re.search(r"2000 files, \d+ tokens, digest (\w+)", runnel.run("logs", each))[1]
               for each in (one_by_one, job)]
    assert digests[0] == digests[1]
    assert losses_of(runnel, job, "tokenise") > 0, "somebody was killed"


@pytest.mark.long
def test_every_image_is_predicted_once_whoever_is_killed(runnel):
    runnel.use_python_of_the_project()
    job = runnel.up(f"""
workdir: {QUICKSTART}
steps:
  model:
    resources: {{cpus: 1}}
    run: |
      python3 - <<'END'
      import numpy, torch
      from fashion import SHARED, network
      numpy.save(SHARED / "test-images.npy", numpy.random.default_rng(1).normal(size=(3_000, 1, 28, 28)).astype("f4"))
      torch.save({{"model": network(8, 0.1).state_dict(), "width": 8, "dropout": 0.1}}, SHARED / "model.pt")
      END
  infer:
    depends_on: model
    foreach: [0, 1, 2, 3, 4, 5]
    resources: {{cpus: 1}}
    retry: {{max: 3}}
    run: echo begins; python3 infer.py --shard {{{{item}}}} --shards 6
  count:
    depends_on: infer
    resources: {{cpus: 1}}
    run: |
      python3 - <<'END'
      import numpy
      from fashion import SHARED
      numbers = numpy.concatenate([numpy.load(path)[0] for path in SHARED.glob("predicted-?.npy")])
      print(len(numbers), "predictions of", len(set(numbers)), "images")
      END
""")
    for _ in range(2):
        kill_one(runnel, job, "infer", "begins")
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("logs", job)
    assert "3000 predictions of 3000 images" in runnel.run("logs", job)
    tasks = runnel.json("show", job, "--step", "infer", "--limit", "20")["tasks"]
    assert sum(task["attempts"] for task in tasks) > len(tasks), "somebody was killed"


def test_chaos_kills_a_process_of_each_step_that_may_be_tried_again(runnel):
    file = runnel.file("""
steps:
  first: {retry: {max: 1}, resources: {cpus: 1}, run: '[ "$RUNNEL_ATTEMPT" = 2 ] || sleep 1000'}
  second: {resources: {cpus: 1}, run: sleep 2}
""")
    runnel.run("run", "--chaos", file)
    assert "runnel: chaos: killed process" in runnel.err
    assert "of step first" in runnel.err and "of step second" not in runnel.err
