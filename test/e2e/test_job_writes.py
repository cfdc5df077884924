"""Volumes that jobs write: a branch for each task, and one version of all once their step has succeeded."""

import os
import random
import signal
import time

import pytest

from conftest import kill
from test_mount import pytestmark, versions  # noqa: F401  Marks.
from test_volume_jobs import mounts, put  # noqa: F401  A fixture.

KILLS = int(os.environ.get("RUNNEL_JOB_WRITE_KILLS", "6"))
WRITES = "volumes: {out: {volume: data, mode: rw}}\n"


@pytest.fixture
def data(runnel, tmp_path):
    """The version that the volume has before."""
    return put(runnel, tmp_path, base="there before\n")


def files(runnel):
    """Their paths in the newest version."""
    folder = runnel.home / f"got-{versions(runnel)[0]}"
    runnel.run("volume", "get", "data", folder)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def branches(runnel):
    return sorted(each["branch"] for each in runnel.json("volume", "branches", "data")["branches"])


def leaves_nothing(runnel):
    def is_clean():
        runnel.info()  # What could not be taken back is so by the next daemon, if there is none.
        places = [each for each in os.listdir(runnel.home / "mounts") if not each.startswith(".")]
        return not places and not os.listdir(runnel.home / "preparing") and \
            not list((runnel.home / "writing").glob("*/branch-*"))

    return runnel.until(is_clean, timeout=60)


def step_of(runnel, job, name):
    return next(each for each in runnel.job(job)["steps"] if each["name"] == name)


def begun(gate):
    """A script that says that it has begun, and waits until its gate is open."""
    return f"touch {gate}.begun; while ! test -e {gate}; do sleep 0.02; done"


def test_what_the_tasks_of_a_step_write_is_one_version_once_it_has_succeeded(runnel, data, mounts, tmp_path):  # noqa: F811
    gate = tmp_path / "gate"
    job = runnel.up(WRITES + f"""
steps:
  train:
    foreach: [a, b, c]
    run: |
      ls $RUNNEL_VOLUME_OUT
      mkdir -p $RUNNEL_VOLUME_OUT/results
      echo {{{{item}}}} > $RUNNEL_VOLUME_OUT/results/{{{{item}}}}
      if test {{{{item}}}} = c; then {begun(gate)}; fi
  after: {{depends_on: train, volumes: {{out: data}}, run: 'cd $RUNNEL_VOLUME_OUT; cat results/* base'}}
""")
    assert "volume out is data as step 'train' leaves it" in runnel.err
    runnel.until(lambda: runnel.job(job)["counts"].get("SUCCEEDED") == 2)
    assert versions(runnel) == [data], "nobody sees what a part of the step has written"
    gate.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert len(versions(runnel)) == 2
    assert files(runnel) == ["base", "results/a", "results/b", "results/c"]
    assert sorted(runnel.run("logs", job).splitlines()) == [
        "after/0: a", "after/0: b", "after/0: c", "after/0: there before",
        "train/0: base", "train/1: base", "train/2: base"]
    newest = versions(runnel)[0]
    assert step_of(runnel, job, "train.publish")["published"] == [{"name": "out", "version": newest, "volume": "data"}]
    assert f"out: data@{newest}" in runnel.run("show", job)
    assert not branches(runnel)
    put(runnel, tmp_path, later="of somebody else\n")
    assert "later" not in runnel.run("logs", job), "what was read is in the job's record"


def test_two_tasks_that_write_one_path_differently_are_named(runnel, data, mounts):  # noqa: F811
    job = runnel.up(WRITES + "steps: {both: {foreach: [a, b], run: 'echo {{item}} > $RUNNEL_VOLUME_OUT/same'}}\n")
    assert runnel.wait(job)["status"] == "FAILED"
    said = runnel.run("show", job)
    assert "'same'" in said and all(f"{job}.both.{task}'" in said for task in (0, 1)), said
    assert versions(runnel) == [data]
    assert branches(runnel) == [f"{job}.both.{task}" for task in (0, 1)]
    runnel.run("volume", "delete", "data", code=1)
    assert "runnel volume branches data" in runnel.err
    folder = mounts.make("data", "mended", "--branch", f"{job}.both.1")
    (folder / "same").rename(folder / "other")
    runnel.run("volume", "umount", folder)
    runnel.run("retry", job)
    assert runnel.wait(job)["status"] == "SUCCEEDED", "as the remedy says"
    assert files(runnel) == ["base", "other", "same"] and not branches(runnel)


def test_a_job_that_is_deleted_takes_its_branches_along(runnel, data, mounts):  # noqa: F811
    job = runnel.up(WRITES + "run: 'echo text > $RUNNEL_VOLUME_OUT/file; exit 3'\n")
    assert runnel.wait(job)["status"] == "FAILED"
    runnel.until(lambda: branches(runnel))
    leaves_nothing(runnel)
    runnel.run("delete", job)
    assert not branches(runnel) and versions(runnel) == [data]
    runnel.run("volume", "delete", "data", "--yes")


def test_what_a_task_writes_where_its_mount_was_taken_away_is_no_success(runnel, data, mounts):  # noqa: F811
    job = runnel.up(WRITES + "run: 'cd $RUNNEL_VOLUME_OUT; echo a > seen; cd /; umount $RUNNEL_VOLUME_OUT; "
                             "echo b > $RUNNEL_VOLUME_OUT/below; sleep 0.5'\n")
    assert runnel.wait(job)["status"] == "FAILED"
    assert "its mount was taken away while it ran, and 'below'" in runnel.run("show", job)
    assert versions(runnel) == [data]


def test_a_search_leaves_no_branch_of_trials_that_failed(runnel, data, mounts):  # noqa: F811
    runnel.ended(WRITES + """
params: {x: {range: [1, 4]}}
search: {method: grid, metric: loss, mode: min, max_failures: 4}
run: |
  echo {{x}} > $RUNNEL_VOLUME_OUT/trial-{{x}}
  test {{x}} != 2
  echo '{"step": 1, "loss": {{x}}}' >> $RUNNEL_METRICS_FILE
""")
    assert files(runnel) == ["base", "trial-1", "trial-3", "trial-4"]
    assert not branches(runnel)
    leaves_nothing(runnel)


def test_an_attempt_that_failed_leaves_nothing_in_the_version(runnel, data, mounts, tmp_path):  # noqa: F811
    first = tmp_path / "first"
    runnel.ended(WRITES + f"""
retry: {{max: 1}}
run: |
  cd $RUNNEL_VOLUME_OUT
  test ! -e left
  if ! test -e {first}; then touch {first}; echo half > left; exit 3; fi
  echo whole > right
""")
    assert files(runnel) == ["base", "right"]
    leaves_nothing(runnel)


def test_a_task_is_done_once_its_own_writes_are(runnel, data, mounts, tmp_path):  # noqa: F811
    gate = tmp_path / "gate"
    job = runnel.up(WRITES + f"run: 'echo text > $RUNNEL_VOLUME_OUT/file; {begun(gate)}'\n")
    runnel.until(lambda: os.path.exists(f"{gate}.begun"))
    server = mounts.server()
    os.kill(server, signal.SIGSTOP)
    try:
        gate.touch()
        runnel.until(lambda: "Flushing: task 0 waits" in runnel.run("explain", job))
        assert runnel.job(job)["status"] == "RUNNING"
    finally:
        os.kill(server, signal.SIGCONT)
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert files(runnel) == ["base", "file"]


@pytest.mark.parametrize("who", ["daemon", "mount", "all"])
def test_what_is_killed_while_a_task_is_flushed_costs_nothing(runnel, data, mounts, tmp_path, who):  # noqa: F811
    gate = tmp_path / "gate"
    job = runnel.up(WRITES + f"run: 'echo text > $RUNNEL_VOLUME_OUT/file; {begun(gate)}'\n")
    runnel.until(lambda: os.path.exists(f"{gate}.begun"))
    server = mounts.server()
    os.kill(server, signal.SIGSTOP)
    gate.touch()
    runnel.until(lambda: "what it wrote" in runnel.run("explain", job))
    if who != "daemon":
        for pid in mounts.processes("mount") + [server]:
            kill(pid)
    if who != "mount":
        kill(runnel.info()["daemon_pid"])
    if who == "daemon":
        os.kill(server, signal.SIGCONT)
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert files(runnel) == ["base", "file"]
    assert len(versions(runnel)) == 2
    leaves_nothing(runnel)


def test_a_job_that_is_cancelled_waits_for_its_writes_no_longer_than_its_grace(runnel, data, mounts, tmp_path):  # noqa: F811
    gate = tmp_path / "gate"
    job = runnel.up(WRITES + f"grace: 1s\nrun: 'echo text > $RUNNEL_VOLUME_OUT/file; {begun(gate)}'\n")
    runnel.until(lambda: os.path.exists(f"{gate}.begun"))
    server = mounts.server()
    os.kill(server, signal.SIGSTOP)
    try:
        gate.touch()
        runnel.until(lambda: "what it wrote" in runnel.run("explain", job))
        runnel.run("cancel", job)
        assert runnel.wait(job)["status"] == "CANCELLED"
        assert "Flushing" not in runnel.run("explain", job)
    finally:
        os.kill(server, signal.SIGCONT)
    assert versions(runnel) == [data]
    leaves_nothing(runnel)


def test_each_rank_of_a_gang_writes_a_branch(runnel, data, mounts):  # noqa: F811
    job = runnel.ended(WRITES + "procs_per_node: 2\n"
                                "run: 'echo $RANK > $RUNNEL_VOLUME_OUT/rank-$RANK; ls $RUNNEL_VOLUME_OUT'\n")
    assert files(runnel) == ["base", "rank-0", "rank-1"]
    assert "rank-0" in runnel.run("logs", job)
    leaves_nothing(runnel)


def test_a_search_and_a_gang_write_one_volume_under_kills(runnel, data, mounts):  # noqa: F811
    job = runnel.up(WRITES + """
steps:
  tune:
    params: {x: {range: [1, 16]}}
    search: {method: grid, metric: loss, mode: min, parallel: 16}
    resources: {cpus: 0.05}
    run: |
      echo half > $RUNNEL_VOLUME_OUT/half-{{x}}
      sleep 0.5
      mv $RUNNEL_VOLUME_OUT/half-{{x}} $RUNNEL_VOLUME_OUT/trial-{{x}}
      echo '{"step": 1, "loss": {{x}}}' >> $RUNNEL_METRICS_FILE
  gang:
    num_nodes: 2
    resources: {cpus: 0.05}
    run: 'sleep 1; echo $RANK > $RUNNEL_VOLUME_OUT/rank-$RANK'
""")
    for number in range(KILLS):
        pids = runnel.info()
        time.sleep(random.Random(number).uniform(0.1, 1.0))
        for who in ("daemon_pid", "runner_pid")[number % 2:]:
            if pids[who]:
                kill(pids[who])
        if runnel.job(job)["status"] == "SUCCEEDED":
            break
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED", runnel.run("show", job)
    assert files(runnel) == sorted(["base", "rank-0", "rank-1"] + [f"trial-{x}" for x in range(1, 17)])
    made = [each["published"][0]["version"] for each in document["steps"] if "published" in each]
    assert sorted([*made, data]) == sorted(versions(runnel)), "each step has published once"
    assert not branches(runnel)
    leaves_nothing(runnel)
