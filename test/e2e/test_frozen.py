"""What does not answer is named, and delays only those who need it: pipes where files should be, a runner that was stopped."""

import json
import os
import select
import signal
import time

import pytest
from conftest import kill

HANGS_S = 8  # Five of the product's own, and three that a busy machine takes to start a process or two.

SECRET_OF_A_FILE = """
secrets: {{TOKEN: "file:{path}"}}
run: "true"
"""

# Its own first attempt puts a pipe where its job keeps what its search looks at.
PLAN_IS_A_PIPE = """
params: {x: {range: [1, 40]}}
search: {metric: train/loss, mode: min, max_trials: 3, method: random, parallel: 1}
metrics: {log: {train: 'loss=%{FLOAT:loss}'}}
run: |
  cd $RUNNEL_JOB_DIR/../metrics && rm -f 0.json && mkfifo 0.json
  echo loss=1
  sleep 1
"""


def test_a_pipe_as_the_file_of_a_secret_fails_its_task_and_no_other(runnel):
    pipe = runnel.work / "pipe"
    os.mkfifo(pipe)
    job = runnel.up(SECRET_OF_A_FILE.format(path=pipe), timeout=HANGS_S)
    document = runnel.wait(job)
    assert document["status"] == "FAILED"
    said = runnel.run("show", job, timeout=HANGS_S) + runnel.run("events", job, timeout=HANGS_S)
    assert f"the secret TOKEN cannot be read: {pipe} is a pipe, not a regular file" in said
    assert "--secret TOKEN" in said
    runnel.run("run", "--", "true", timeout=HANGS_S)


def test_a_secret_file_that_is_not_there_fails_its_task_by_name(runnel):
    file = runnel.file(SECRET_OF_A_FILE.format(path="/nonexist") + "retry: {max: 0}\n")
    runnel.run("run", file, code=126, timeout=HANGS_S)
    assert "the secret TOKEN cannot be read: open /nonexist: No such file or directory" in runnel.err
    assert "--secret TOKEN" in runnel.err
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    attempts = runnel.json("show", job, "--step", "job", "--task", "0")["attempts"]
    assert [attempt["fault"] for attempt in attempts] == ["user"]
    assert runnel.run("logs", job) == "" and "damage" not in runnel.err, "nothing was lost: nothing was written"


def test_a_pipe_where_a_task_keeps_its_checkpoints_fails_its_next_attempt_by_name(runnel):
    script = "rm -rf $RUNNEL_CHECKPOINT_DIR; mkfifo $RUNNEL_CHECKPOINT_DIR; exit 1"
    file = runnel.file(f"checkpoint: {{dir: ckpt}}\nretry: {{max: 1, backoff: 100ms}}\nrun: {script}\n")
    runnel.run("run", file, code=126, timeout=2 * HANGS_S)
    assert "/ckpt is a pipe, not a folder; move it away" in runnel.err


def test_a_pipe_where_a_job_keeps_its_metrics_plan_hangs_nothing(runnel):
    job = runnel.up(PLAN_IS_A_PIPE)
    plan = runnel.home / "jobs" / job / "metrics/0.json"
    runnel.until(plan.is_fifo)
    # The next daemon finds the pipe when it asks what the trials report.
    kill(runnel.info()["daemon_pid"])
    runnel.run("ps", timeout=HANGS_S)
    runnel.run("metrics", job, timeout=HANGS_S)
    assert runnel.wait(job)["status"] == "SUCCEEDED"


@pytest.mark.parametrize("words", [
    ("validate", "PIPE"), ("run", "PIPE"), ("up", "-f", "PIPE"), ("plan", "-f", "PIPE"), ("import", "PIPE"),
    ("run", "--env-file", "PIPE", "--", "true"), ("up", "--env-file", "PIPE", "-f", "JOB")], ids=" ".join)
def test_a_pipe_in_the_place_of_a_file_is_refused(runnel, words):
    pipe = runnel.work / "pipe"
    os.mkfifo(pipe)
    places = {"PIPE": pipe, "JOB": runnel.file("run: 'true'\n")}
    runnel.run(*[places.get(word, word) for word in words], code=2, timeout=HANGS_S)
    assert f"{pipe} is a pipe, not a regular file" in runnel.err


def test_a_daemon_that_was_stopped_is_named(runnel):
    job = runnel.up("run: sleep 1\n")
    daemon = runnel.info()["daemon_pid"]
    kill(daemon, signal.SIGSTOP)
    try:
        for words in (("ps",), ("logs", job), ("home",), ("run", "--", "true")):
            runnel.run(*words, code=1, timeout=HANGS_S)
            assert f"the home daemon (process {daemon}) was stopped" in runnel.err, words
            assert f"kill -CONT {daemon}" in runnel.err, words
    finally:
        kill(daemon, signal.SIGCONT)
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def next_line(process):
    assert select.select([process.stderr], [], [], 2 * HANGS_S)[0], f"{process.args} says nothing"
    return process.stderr.readline()


def test_who_follows_a_job_is_told_once_that_its_daemon_was_stopped(runnel):
    attached = runnel.start("run", "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.1; done; echo done")
    assert attached.stderr.readline().startswith("job ")
    job = runnel.until(lambda: runnel.json("ps")["jobs"])[0]["id"]
    runnel.until(lambda: runnel.json("show", job)["status"] == "RUNNING")
    others = [runnel.start(*words) for words in (("logs", "-f", job), ("wait", job), ("events", "--watch", job))]
    assert others[-1].stdout.readline()
    time.sleep(1)  # All of them have found it.
    daemon = runnel.info()["daemon_pid"]
    kill(daemon, signal.SIGSTOP)
    line = f"(process {daemon}) was stopped and answers nothing; let it go on: kill -CONT {daemon}\n"
    try:
        for follower in (attached, *others):
            while not (said := next_line(follower)).endswith(line):
                assert "Resources" in said, (follower.args, said)  # A busy machine takes long to decide.
        time.sleep(4)  # Longer than it takes to be told again.
    finally:
        kill(daemon, signal.SIGCONT)
    (runnel.work / "go").touch()
    for follower, said in ((attached, "done\n"), (others[0], "done\n"), (others[1], "")):
        out, err = follower.communicate(timeout=60)
        assert (follower.returncode, out) == (0, said) and "was stopped" not in err, (follower.args, err)
    kill(others[2].pid, signal.SIGINT)
    out, err = others[2].communicate(timeout=60)
    assert "attempt.ended" in out and "was stopped" not in err, (out, err)


def silent(runnel):
    return runnel.json("home", timeout=HANGS_S).get("runner_silence")


def test_a_runner_that_was_stopped_is_named_and_keeps_nobody_from_being_answered(runnel):
    job = runnel.up("run: 'echo begun; sleep 2; echo done'\n")
    runnel.until(lambda: runnel.run("logs", job) == "begun\n")
    runner = runnel.info()["runner_pid"]
    kill(runner, signal.SIGSTOP)
    try:
        silence = runnel.until(lambda: silent(runnel), timeout=HANGS_S)
        assert f"the runner (process {runner}) has not answered since" in silence["message"]
        assert f"kill -CONT {runner}" in silence["remedy"]
        later = runnel.up("run: 'echo later'\n", timeout=HANGS_S)
        for daemon in ("the same", "the next"):
            for words in (("ps",), ("nodes",), ("home",)):
                runnel.run(*words, timeout=HANGS_S)
                assert f"kill -CONT {runner}" in runnel.err, (daemon, words)
            for waiting in (job, later):
                assert f"kill -CONT {runner}" in runnel.run("explain", waiting, timeout=HANGS_S), daemon
            assert runnel.run("logs", job, timeout=HANGS_S).startswith("begun\n")
            runnel.run("show", job, timeout=HANGS_S)
            if daemon == "the same":
                kill(runnel.info()["daemon_pid"])
                runnel.until(lambda: silent(runnel), timeout=HANGS_S)
    finally:
        kill(runner, signal.SIGCONT)
    for each in (job, later):
        assert runnel.wait(each)["status"] == "SUCCEEDED"
        events = map(json.loads, runnel.run("events", each, "-o", "json").splitlines())
        assert sum(event["type"] == "attempt.ended" for event in events) == 1
    assert runnel.run("logs", job) == "begun\ndone\n"
    assert silent(runnel) is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
@pytest.mark.parametrize("name", ["runner/log", "log", "log-head", "place.json"])
def test_what_is_no_file_where_the_home_keeps_one_is_named(runnel, name, make):
    runnel.ended("run: echo hi")
    runnel.end_idle_daemon()
    runnel.rest()
    path = runnel.home / name
    path.unlink(missing_ok=True)
    make(path)
    runnel.run("ps", code=1, timeout=HANGS_S)
    assert f"{path} is a " in runnel.err and f"mv {path} {path}.away" in runnel.err, runnel.err
