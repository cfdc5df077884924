"""The files by which a home finds its runner were lost, and the runner lives: nothing runs twice, and the home goes on."""

import json
import os
import shutil
import subprocess

import pytest
from conftest import kill

GOES_ON_S = 10  # A look at the socket each second, and what a busy machine takes.

JOB = "run: 'echo begun; while [ ! -e $RUNNEL_JOB_DIR/go ]; do sleep 0.1; done; echo done'\n"


def begin(runnel):
    job = runnel.up(JOB)
    runnel.until(lambda: runnel.run("logs", job) == "begun\n")
    info = runnel.info()
    kill(info["daemon_pid"])
    return job, info["runner_pid"]


def continues(runnel, job, runner):
    """With the runner and the attempt that it had."""
    runnel.until(lambda: runnel.info().get("runner_pid") == runner, timeout=GOES_ON_S)
    (runnel.home / "jobs" / job / "shared/go").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert runnel.run("logs", job) == "begun\ndone\n"
    events = map(json.loads, runnel.run("events", job, "-o", "json").splitlines())
    assert sum(event["type"] == "attempt.ended" for event in events) == 1


@pytest.mark.parametrize("names", [("sock",), ("pid", "sock", "journal"), ("",)], ids=["socket", "files", "folder"])
def test_a_home_whose_runner_lost_its_files_goes_on_with_the_same_attempt(runnel, names):
    job, runner = begin(runnel)
    for name in names:
        path = runnel.home / "runner" / name
        path.unlink() if name else shutil.rmtree(path)
    continues(runnel, job, runner)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.write_text("somebody's")], ids=["pipe", "file"])
def test_what_stands_where_the_runner_listens_is_moved_away(runnel, make):
    job, runner = begin(runnel)
    path = runnel.home / "runner/sock"
    path.unlink()
    make(path)
    continues(runnel, job, runner)
    assert path.with_name("sock.away").exists()


def test_a_folder_where_the_runner_listens_is_named_and_left(runnel):
    job, runner = begin(runnel)
    path = runnel.home / "runner/sock"
    path.unlink()
    path.mkdir()
    silence = runnel.until(lambda: runnel.json("home").get("runner_silence"), timeout=GOES_ON_S)
    assert f"the runner (process {runner}) has not answered since" in silence["message"]
    assert silence["remedy"].endswith(f"mv {path} {path}.away"), silence
    path.rename(f"{path}.away")
    continues(runnel, job, runner)


@pytest.mark.parametrize("how", ["-x", "-s"])
def test_a_stranger_that_locks_the_home_is_named_and_waited_for(runnel, how):
    runnel.run("ps")
    runnel.rest()
    # It holds the lock until its input ends.
    holds = ["flock", how, runnel.home, "sh", "-c", "echo locked; cat"]
    with subprocess.Popen(holds, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stranger:
        assert stranger.stdout.readline() == "locked\n"
        job = runnel.up("run: true")
        silence = runnel.until(lambda: runnel.info().get("runner_silence"))
        said = json.dumps(silence)
        if how == "-x":
            assert f"process {stranger.pid} (flock) holds a lock" in said and "kill" not in said, said
        else:
            log = (runnel.home / "runner/log").read_text()
            assert "another process holds a lock on the home's folder" in log
    assert runnel.wait(job)["status"] == "SUCCEEDED"
