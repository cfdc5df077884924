"""A home on a disk that is really frozen: every command answers or refuses, and after the thaw everything goes on.

The product's own limit is 4 s. What is asserted here is that it names the disk within it, and that no command needs more
than SLACK_S on top, which a busy machine takes to start a process.
"""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import Runnel

PATIENCE_S = 4
SLACK_S = 4
DISK_MB = 64

# What a user asks while the disk is frozen, and may be answered or refused.
COMMANDS = (("ps",), ("show", "JOB"), ("show", "--tasks", "JOB"), ("logs", "JOB"), ("metrics", "JOB"), ("events", "JOB"),
            ("nodes",), ("cancel", "OTHER"), ("retry", "OTHER"), ("delete", "OTHER"), ("study", "list"),
            ("run", "--", "true"), ("up", "--secret", "TOKEN", "-f", "SECRET"), ("fsck",))

SECRET = """
secrets: {TOKEN: "env:TOKEN"}
run: "true"
"""


class Disk:
    """A file as an ext4 file system of its own."""

    def __init__(self, folder):
        self.folder = folder / "disk"
        self.folder.mkdir()
        image = folder / "image"
        with image.open("wb") as file:
            file.truncate(DISK_MB << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        mounted = subprocess.run(["mount", "-o", "loop", image, self.folder], stderr=subprocess.PIPE, text=True)
        self.refused = mounted.stderr.strip()
        self.frozen = False

    def freeze(self):
        subprocess.run(["fsfreeze", "--freeze", self.folder], check=True)
        self.frozen = True

    def thaw(self):
        if self.frozen:
            subprocess.run(["fsfreeze", "--unfreeze", self.folder], check=True)
        self.frozen = False

    def end(self):
        subprocess.run(["umount", "--lazy", self.folder], check=True)


@pytest.fixture
def disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root mounts a file system and freezes it")
    made = Disk(tmp_path)
    if made.refused:
        pytest.skip(f"this machine mounts no file: {made.refused}")
    try:
        yield made
    finally:
        made.thaw()
        made.end()


@pytest.fixture
def home(disk, tmp_path):
    made = Runnel(disk.folder, answers=tmp_path / "answers.jsonl")  # The daemon must not wait for its own disk.
    made.env["TOKEN"] = "hush"
    try:
        yield made
        made.close()
    finally:
        disk.thaw()
        for pid in made.pids():
            os.kill(pid, signal.SIGKILL)


def asked(home, *words):
    """What a command says, and that it says it in time."""
    begun = time.monotonic()
    home.run(*words, code=None, timeout=60)
    took = time.monotonic() - begun
    assert took < PATIENCE_S + SLACK_S, (words, took, home.err)
    return took


def names_the_disk(home):
    return f"the disk of the home {home.home} has not answered" in " ".join(home.err.split())


def test_a_frozen_disk_is_named_and_after_the_thaw_all_goes_on(home, disk):
    # Its first task ends while the disk is frozen, which cannot become durable.
    job = home.up("run: 'echo begun; sleep 2; echo done'\n")
    home.until(lambda: home.run("logs", job) == "begun\n")
    other = home.up("run: 'while sleep 0.001; do echo again; done'\n")  # It is writing when the disk freezes.
    home.until(lambda: home.run("logs", "--tail", "1", other))
    places = {"JOB": job, "OTHER": other, "SECRET": home.file(SECRET, "secret.yaml")}
    disk.freeze()
    asked(home, "run", "--", "true")
    assert home.code == 1 and names_the_disk(home), home.err
    assert "fsfreeze --unfreeze" in home.err and "look before you ask again" in " ".join(home.err.split())
    assert "disk_silence" in home.json("home") and names_the_disk(home)
    assert "DiskSilent" in home.run("explain", job, "-o", "json")
    took = {" ".join(words): asked(home, *[places.get(word, word) for word in words]) for words in COMMANDS}
    print(json.dumps(took))
    disk.thaw()
    home.until(lambda: "disk_silence" not in home.json("home"))
    assert home.wait(job)["status"] == "SUCCEEDED"
    assert home.run("logs", job) == "begun\ndone\n"
    events = map(json.loads, home.run("events", job, "-o", "json").splitlines())
    assert sum(event["type"] == "attempt.ended" for event in events) == 1
    # Whatever was asked for was accepted once, and its secrets are gone with it.
    home.until(lambda: not home.json("ps")["jobs"])
    assert len(home.json("ps", "--all")["jobs"]) == 5, "the two that ran and the three that were refused an answer"
    assert not list((home.home / "secrets").iterdir())


def test_no_daemon_starts_on_a_frozen_disk_and_nobody_waits_for_it(home, disk):
    job = home.up("run: 'sleep 600'\n")
    daemon = home.info()["daemon_pid"]
    disk.freeze()
    os.kill(daemon, signal.SIGKILL)
    for words in (("ps",), ("home",), ("explain", job), ("run", "--", "true"), ("fsck",)):
        asked(home, *words)
        assert home.code == 1 and names_the_disk(home), (words, home.err)
    disk.thaw()
    assert home.job(job)["status"] == "RUNNING"
    home.run("cancel", job)
