"""Kills of who serves and who holds a mount, at random moments: RUNNEL_MOUNT_KILLS of them, from RUNNEL_SEED on."""

import os
import random
import subprocess
import time

import pytest

from conftest import kill
from test_mount import ASKS_AGAIN, Readers, data, is_mounted, mounts, pytestmark  # noqa: F401  Fixtures and marks.
from test_volume import same

KILLS = int(os.environ.get("RUNNEL_MOUNT_KILLS", "10"))
SEED = int(os.environ.get("RUNNEL_SEED", "1"))
A_MOUNT = 8  # A mount whose servers die ten times in a minute is given up.


class Killer:
    """Kills processes of the mounts of a home, each at a moment of its own."""

    def __init__(self, runnel, mounts):
        self.runnel = runnel
        self.mounts = mounts
        self.dice = random.Random(SEED)
        self.kills = 0

    def kill(self, verb, within):
        """Kills one that is there then, also one that has only just begun; False where there is none."""
        time.sleep(self.dice.uniform(0, within))
        found = self.mounts.processes(verb)
        if not found:
            return False
        pid = self.dice.choice(found)
        kill(pid)
        self.runnel.until(lambda: pid not in self.runnel.pids())
        self.kills += 1
        return True

    def nobody_mounts(self):
        """Ends those who were started by a command that was killed, and may mount yet."""
        for pid in self.mounts.processes("mount"):
            kill(pid)
        return not self.mounts.processes("mount")

    def mount(self, folder):
        """Mounts while one of the processes that do so is killed, and then again; whatever came of it, it is served."""
        words = ("volume", "mount", "-d", "data", folder)
        begun = self.runnel.start(*words)
        self.kill(self.dice.choice(["mount", "serve"]), 0.1)
        try:
            begun.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            pytest.fail(f"`{' '.join(map(str, words))}` does not end")
        if begun.returncode == 0 and self.mounts.processes("mount"):
            return
        self.runnel.until(self.nobody_mounts)
        if is_mounted(folder):
            self.runnel.run("volume", "umount", folder)
        self.mounts.make("data")


def wait_for_passes(runnel, readers):
    passes = readers.passes
    runnel.until(lambda: readers.passes > passes + len(readers.threads) or readers.errors)


@pytest.mark.skipif(not ASKS_AGAIN, reason="before Linux 6.9 what was not answered is lost")
def test_whoever_is_killed_readers_get_all_bytes_and_no_error(runnel, data, mounts):  # noqa: F811
    killer = Killer(runnel, mounts)
    folder = mounts.folder / "mnt"
    folder.mkdir()
    while killer.kills < KILLS:
        killer.mount(folder)
        readers = Readers(data, folder, count=4)
        try:
            for _ in range(A_MOUNT):
                killer.kill("serve", 0.3)
            mounts.server()
            wait_for_passes(runnel, readers)
            if killer.dice.random() < 0.5:
                killer.kill("mount", 0.1)
                wait_for_passes(runnel, readers)
        except AssertionError:
            subprocess.run(["umount", "--lazy", folder])  # Who waits for a server that answers nothing ends.
            for pid in mounts.processes("serve"):
                kill(pid)
            raise
        finally:
            readers.end()
        assert not readers.errors, (killer.kills, readers.errors, mounts.log())
        assert same(data, folder)
        runnel.run("volume", "umount", folder)
        assert not is_mounted(folder) and not list(folder.iterdir())
        runnel.until(lambda: not mounts.processes("mount"))
    runnel.until(lambda: not mounts.processes("mount") and not mounts.processes("serve"))
    for _ in range(2):
        runnel.run("volume", "gc", "data")
    assert runnel.json("volume", "stat", "data")["sessions"] == 0, "of those who were killed none is left"
