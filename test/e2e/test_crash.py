"""kill -9 and SIGSTOP at random moments: no task lost, none run twice without a recorded cause, exit
codes right, nothing left behind.

RUNNEL_CRASHES sets the number of kills (3 here, 100 in `make soak`), RUNNEL_FREEZES and RUNNEL_FREEZE_S
how often and how long the daemon is stopped (1 of 3 s here, 5 of 30 s).
"""

import json
import os
import random
import signal
import time

import pytest
from conftest import kill

CRASHES = int(os.environ.get("RUNNEL_CRASHES", "3"))
FREEZES = int(os.environ.get("RUNNEL_FREEZES", "1"))
FREEZE_S = float(os.environ.get("RUNNEL_FREEZE_S", "3"))

# One task fails its first attempt with a code of its own and is tried again.
JOB = """
steps:
  first:
    params: {n: {range: [0, 79]}}
    resources: {cpus: 1}
    run: sleep 0.02; echo first {{n}} >> $RUNNEL_JOB_DIR/ran
  second:
    depends_on: first
    params: {n: {range: [0, 79]}}
    resources: {cpus: 1}
    retry: {max: 1, on_exit_codes: 41}
    run: |
      sleep 0.02
      if test {{n}} = 7 && test ! -e $RUNNEL_JOB_DIR/failed; then : > $RUNNEL_JOB_DIR/failed; exit 41; fi
      echo second {{n}} >> $RUNNEL_JOB_DIR/ran
  third:
    depends_on: second
    params: {n: {range: [0, 39]}}
    resources: {cpus: 1}
    run: sleep 0.02; echo third {{n}} >> $RUNNEL_JOB_DIR/ran
"""
TASKS = 200


def outputs(runnel, job):
    return (runnel.home / "jobs" / job / "shared/ran").read_text().splitlines()


def attempts_ended(runnel, job):
    lines = runnel.run("events", job, "-o", "json").splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == "attempt.ended"]


def check(runnel, job):
    """The job succeeded, each task once; returns the attempts that were lost with their runner."""
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert len(set(outputs(runnel, job))) == TASKS, "no task lost"
    ended = attempts_ended(runnel, job)
    lost = [event for event in ended if event["to"] == "NODE_FAIL"]
    done = [event for event in ended if event["to"] == "SUCCEEDED"]
    assert len(done) == TASKS, "each task succeeded once"
    failed = [event for event in ended if event["to"] == "FAILED"]
    never_ran = [event for event in ended if "started_at" not in event and event["reason"] == "Rebalanced"]
    assert len(done) + len(lost) + len(failed) + len(never_ran) == len(ended), "an end without a cause"
    assert len(outputs(runnel, job)) <= TASKS + len(lost), "what ran again has its cause"
    return lost, failed


def check_failure(runnel, failed):
    assert [event["exits"] for event in failed] == [[{"code": 41}]], failed


def test_kill_daemon_and_client(runnel):
    dice = random.Random(7)
    left = CRASHES
    while left > 0:
        process = runnel.start("run", runnel.file(JOB))
        job = runnel.until(lambda: runnel.run("ps", "-o", "name").split())[0]
        while left > 0:
            time.sleep(dice.uniform(0.0, 0.5))
            if runnel.job(job)["status"] in ("SUCCEEDED", "FAILED"):
                break
            kill(runnel.info()["daemon_pid"])
            left -= 1
            if dice.random() < 0.5:
                kill(process.pid)
                process.communicate()
                process = runnel.start("logs", "-f", job)
        lost, failed = check(runnel, job)
        process.communicate(timeout=60)
        assert not lost
        check_failure(runnel, failed)


@pytest.mark.parametrize(("victims", "seed"), [(["runner_pid"], 11), (["daemon_pid", "runner_pid"], 13)])
def test_kill_the_runner_alone_or_with_the_daemon(runnel, victims, seed):
    dice = random.Random(seed)
    left = CRASHES
    while left > 0:
        job = runnel.up(JOB)
        while left > 0:
            if runnel.job(job)["status"] in ("SUCCEEDED", "FAILED"):
                break
            time.sleep(dice.uniform(0.0, 0.5))  # Now that they live: killed at once, they would get nothing done.
            info = runnel.info()
            for victim in victims:
                kill(info[victim])
            left -= 1
        check(runnel, job)


def test_freeze_the_daemon(runnel):
    dice = random.Random(17)
    for _ in range(FREEZES):
        job = runnel.up(JOB)
        time.sleep(dice.uniform(0.1, 2))
        daemon = runnel.info()["daemon_pid"]
        kill(daemon, signal.SIGSTOP)
        time.sleep(FREEZE_S)
        kill(daemon, signal.SIGCONT)
        lost, failed = check(runnel, job)
        assert not lost
        check_failure(runnel, failed)
        assert len(outputs(runnel, job)) == TASKS
