"""A mount that no longer answers, where a task has its files: what needs them is refused within the product's 4 s and names
the mount, and everybody else is answered."""

import ctypes
import os
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

    def end(self):
        if self.device >= 0:
            os.close(self.device)  # Whoever waits gets an error.
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
    assert runnel.json("metrics", job)["series"][0]["samples"]


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
