"""kill -9 at random moments: no task lost, none run twice without a recorded cause, nothing left.

RUNNEL_CRASHES sets the number of kills (3 here, 100 in `make soak`).
"""

import os
import random
import signal
import time

CRASHES = int(os.environ.get("RUNNEL_CRASHES", "3"))
JOB = """
steps:
  first:
    params: {n: {range: [0, 79]}}
    resources: {cpus: 1}
    run: sleep 0.02; echo first {{n}} >> $RUNNEL_JOB_DIR/ran; exit 0
  second:
    depends_on: first
    params: {n: {range: [0, 79]}}
    resources: {cpus: 1}
    run: sleep 0.02; echo second {{n}} >> $RUNNEL_JOB_DIR/ran; test {{n}} != 7 || exit 0
  third:
    depends_on: second
    params: {n: {range: [0, 39]}}
    resources: {cpus: 1}
    run: sleep 0.02; echo third {{n}} >> $RUNNEL_JOB_DIR/ran
"""
TASKS = 200


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, TypeError):
        pass


def outputs(runnel, job):
    return (runnel.home / "jobs" / job / "shared/ran").read_text().splitlines()


def attempts_ended(runnel, job):
    events = [__import__("json").loads(line)
              for line in runnel.run("events", job, "-o", "json", "--limit", "100000").splitlines()]
    return [event for event in events if event["type"] == "attempt.ended"]


def test_kill_daemon_and_client(runnel):
    dice = random.Random(7)
    process = runnel.start("run", runnel.file(JOB))
    job = runnel.until(lambda: runnel.run("ps", "-o", "name").split())[0]
    for _ in range(CRASHES):
        time.sleep(dice.uniform(0.01, 1.0))
        if runnel.job(job)["status"] in ("SUCCEEDED", "FAILED"):
            break
        kill(runnel.info()["daemon_pid"])
        if dice.random() < 0.5:
            kill(process.pid)
            process.communicate()
            process = runnel.start("logs", "-f", job)
    assert runnel.wait(job, timeout=180)["status"] == "SUCCEEDED"
    process.communicate(timeout=60)
    assert len(outputs(runnel, job)) == TASKS, "each task ran exactly once"
    assert len(set(outputs(runnel, job))) == TASKS
    assert len(attempts_ended(runnel, job)) == TASKS


def test_kill_the_runner(runnel):
    dice = random.Random(11)
    job = runnel.up(JOB)
    for _ in range(CRASHES):
        time.sleep(dice.uniform(0.1, 1.0))
        if runnel.job(job)["status"] in ("SUCCEEDED", "FAILED"):
            break
        kill(runnel.info()["runner_pid"])
    assert runnel.wait(job, timeout=180)["status"] == "SUCCEEDED"
    assert len(set(outputs(runnel, job))) == TASKS, "no task lost"
    ended = attempts_ended(runnel, job)
    lost = [event for event in ended if event["to"] == "NODE_FAIL"]
    assert len(ended) - len(lost) == TASKS, "each task succeeded once; the others have their cause"


def test_freeze_the_daemon(runnel):
    job = runnel.up(JOB)
    time.sleep(0.5)
    daemon = runnel.info()["daemon_pid"]
    os.kill(daemon, signal.SIGSTOP)
    time.sleep(3)
    os.kill(daemon, signal.SIGCONT)
    assert runnel.wait(job, timeout=180)["status"] == "SUCCEEDED"
    assert len(outputs(runnel, job)) == TASKS
