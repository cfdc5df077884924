"""A mount that no longer answers, where a task has its files: what needs them is refused within the product's 4 s and names
the mount, and everybody else is answered."""

import ctypes
import json
import os
import pathlib
import signal
import time

import pytest
from test_frozen_disk import PATIENCE_S, SLACK_S

COMMANDS = (("logs", "JOB"), ("logs", "--tail", "3", "JOB"), ("metrics", "JOB"))
LIBC = ctypes.CDLL(None, use_errno=True)
DETACH = 2

JOB = """
run: |
  echo begun
  echo '{"loss": 1}' >> $RUNNEL_METRICS_FILE
"""


class DeadMount:
    """A file system whose server took the mount and never says a word."""

    def __init__(self):
        self.device = os.open("/dev/fuse", os.O_RDWR)
        self.folder = None

    def cover(self, folder):
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0".encode()
        if LIBC.mount(b"dead", os.fsencode(folder), b"fuse", 0, options) != 0:
            pytest.skip(f"this machine mounts nothing: {os.strerror(ctypes.get_errno())}")
        self.folder = folder

    def end_server(self):
        """All that ask get an error from now on."""
        os.close(self.device)
        self.device = -1

    def end(self):
        if self.device >= 0:
            os.close(self.device)  # All that wait get an error.
        self.device = -1
        if self.folder is not None:
            LIBC.umount2(os.fsencode(self.folder), DETACH)
        self.folder = None


@pytest.fixture
def mount(runnel):
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("only root mounts a file system, where there is a /dev/fuse")
    made = DeadMount()
    try:
        yield made
    finally:
        made.end()


@pytest.mark.parametrize("below", ["logs", "tasks/0.0"])
def test_a_dead_mount_is_named_and_holds_up_nobody_else(runnel, mount, below):
    job = runnel.ended(JOB)
    other = runnel.ended(JOB)
    folder = (runnel.home / "jobs" / job / below).resolve()
    mount.cover(folder)
    refused = 0
    for words in COMMANDS:
        begun = time.monotonic()
        asking = runnel.start(*[job if word == "JOB" else word for word in words])
        for _ in range(3):
            assert runnel.run("logs", other, timeout=PATIENCE_S) == "begun\n"
            assert runnel.json("metrics", other, timeout=PATIENCE_S)["series"][0]["samples"]
        _, said = asking.communicate(timeout=30)
        assert time.monotonic() - begun < PATIENCE_S + SLACK_S, words
        if asking.returncode == 0:
            continue  # It needs no file that lies there.
        refused += 1
        assert asking.returncode == 1 and f"{folder} has not answered since 20" in said, (words, said)
        assert f"umount --lazy {folder}" in said, (words, said)
        begun = time.monotonic()  # What hangs is not asked again.
        runnel.run(*[job if word == "JOB" else word for word in words], code=1)
        assert time.monotonic() - begun < PATIENCE_S
    assert refused >= 1
    runnel.run("show", job)
    mount.end()
    assert runnel.until(lambda: runnel.run("logs", job, code=None)) == "begun\n"
    said = runnel.until(lambda: json.loads(runnel.run("metrics", job, "-o", "json", code=None)).get("series"))
    assert said[0]["samples"]


def wait_for_processors(info):
    """Seconds that the daemon's loop and the runner could have run and were not let: a busy machine, no dead mount."""
    nanos = [pathlib.Path(f"/proc/{info[name]}/schedstat").read_text().split()[1] for name in ("daemon_pid", "runner_pid")]
    return sum(map(int, nanos)) / 1e9


@pytest.mark.parametrize("below", ["tasks/0.0", "logs"])
def test_a_dead_mount_under_what_is_watched_holds_up_nobody_else(runnel, mount, below):
    """The files are those of a running task whose metrics and output are read for its health."""
    job = runnel.up("health: {nan: warn, hang: {after: 1h, action: warn}}\nrun: echo begun; sleep 300\n")
    runnel.until(lambda: runnel.run("logs", job) == "begun\n")
    mount.cover((runnel.home / "jobs" / job / below).resolve())
    time.sleep(2.5)  # It is looked at each second.
    info = runnel.info()
    begun = time.monotonic()
    while time.monotonic() - begun < 6:
        for words in (("ps",), ("nodes",), ("home",), ("run", "--", "true")):
            asked, starved = time.monotonic(), wait_for_processors(info)
            runnel.run(*words, timeout=30)
            assert time.monotonic() - asked < 3 + wait_for_processors(info) - starved, words
    mount.end()
    runnel.run("cancel", job)
    assert runnel.wait(job)["status"] == "CANCELLED"


def test_a_mount_whose_server_has_ended_is_no_absence(runnel, mount):
    job = runnel.ended(JOB)
    logs = (runnel.home / "jobs" / job / "logs").resolve()
    mount.cover(logs)
    mount.end_server()
    runnel.run("logs", job, code=None)
    assert "is gone" not in runnel.err and "Transport endpoint is not connected" in runnel.err


def removed(runnel, job):
    return not any((runnel.home / folder / job).exists() for folder in ("jobs", "trash"))


@pytest.mark.parametrize("below", ["shared", ""])
def test_a_deleted_job_with_a_dead_mount_holds_up_no_other_and_no_daemon(runnel, mount, below):
    job, other = runnel.ended(JOB), runnel.ended(JOB)
    folder = (runnel.home / "jobs" / job / below).resolve()
    mount.cover(folder)
    for each in (job, other):
        runnel.run("delete", each, timeout=PATIENCE_S + SLACK_S)
    runnel.until(lambda: removed(runnel, other))
    notices = runnel.until(lambda: runnel.info()["notices"])
    assert any(job in notice and f"umount --lazy {folder}" in notice for notice in notices), notices
    runnel.end_idle_daemon()
    runnel.rest()
    mount.end()
    runnel.run("ps")
    runnel.until(lambda: removed(runnel, job))
    assert not runnel.info()["notices"]


def test_show_answers_when_the_whole_folder_of_a_job_is_dead(runnel, mount):
    job = runnel.ended(JOB)
    folder = (runnel.home / "jobs" / job).resolve()
    mount.cover(folder)
    said = runnel.run("show", job, timeout=PATIENCE_S + SLACK_S)
    assert "SUCCEEDED" in said and str(folder) not in said


def test_a_home_on_a_dead_mount_is_refused_with_the_mount_to_mend(runnel, mount):
    """Whether its daemon still runs or not: no command hangs."""
    job = runnel.ended(JOB)
    runnel.file("run: echo there\n")
    home = runnel.home.resolve()
    mount.cover(home)
    for words in (("ps",), ("show", job), ("validate", "job.yaml"), ("home",), ("fsck",)):
        begun = time.monotonic()
        runnel.run(*words, code=1, timeout=30)
        assert time.monotonic() - begun < PATIENCE_S + SLACK_S, words
        assert f"{home} has not answered since 20" in runnel.err, (words, runnel.err)
        assert f"umount --lazy {home}" in runnel.err, (words, runnel.err)
    mount.end()
    assert runnel.until(lambda: runnel.run("logs", job, code=None)) == "begun\n"


@pytest.mark.long
def test_a_daemon_ends_over_a_dead_mount(runnel, mount):
    """It waits for the mount for as long as for any disk, and not for ever; it still answers nobody then."""
    job = runnel.ended(JOB)
    daemon = runnel.info()["daemon_pid"]
    mount.cover(runnel.home.resolve())
    os.kill(daemon, signal.SIGTERM)
    until = time.monotonic() + 40
    while time.monotonic() < until and daemon in runnel.pids():
        time.sleep(0.1)
    has_ended = daemon not in runnel.pids()
    mount.end()  # Before anything looks into the home.
    assert has_ended
    assert runnel.run("logs", job) == "begun\n"


@pytest.mark.parametrize("below", ["jobs", "secrets", "trash"])
def test_a_daemon_is_not_started_over_a_dead_mount_in_its_home(runnel, mount, below):
    runnel.ended(JOB)
    runnel.rest()
    folder = (runnel.home / below).resolve()
    folder.mkdir(exist_ok=True)
    mount.cover(folder)
    begun = time.monotonic()
    runnel.run("ps", code=1, timeout=30)
    assert time.monotonic() - begun < PATIENCE_S + SLACK_S
    assert f"{folder} has not answered since 20" in runnel.err and f"umount --lazy {folder}" in runnel.err
    mount.end()
    assert "SUCCEEDED" in runnel.run("ps", "-a")


def test_a_volume_on_a_dead_mount_keeps_no_other_from_the_list(runnel, mount):
    for name in ("gone", "near"):
        runnel.run("volume", "create", name, "--store", f"file://{runnel.home.parent}/{name}-store")
    mount.cover(runnel.home.parent / "gone-store")
    begun = time.monotonic()
    gone, near = [line.split() for line in runnel.run("volume", "list").splitlines()[1:]]
    assert time.monotonic() - begun < 15
    assert gone[:2] == ["gone", "?"] and near[:2] == ["near", "-"]
    assert "volume gone: its store has not answered within 6" in runnel.err, runnel.err
