"""Kills of what changes a volume, at random moments: RUNNEL_VOLUME_KILLS of them, from RUNNEL_SEED on."""

import hashlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest

from s3_server import S3Server
from test_volume import same, tree

KILLS = int(os.environ.get("RUNNEL_VOLUME_KILLS", "12"))
SEED = int(os.environ.get("RUNNEL_SEED", "1"))


def digest(content):
    return hashlib.sha256(content).digest()


class Model:
    """The files of the newest version, each by its digest, and what happens to them."""

    def __init__(self, dice):
        self.dice = dice
        self.files = {}

    def folders(self):
        return sorted({name.split("/")[0] for name in self.files})

    def put(self):
        """Files that a put brings; one of three has more than goes into one chunk."""
        size = self.dice.choice([3_000, 3_000, 2_500_000])
        count = self.dice.randrange(1, 60) if size < 10_000 else self.dice.randrange(1, 8)
        folder = self.dice.randrange(6)
        return {f"d{folder}/{self.dice.randrange(60)}": self.dice.randbytes(size) for _ in range(count)}

    def without(self, folder):
        return {name: text for name, text in self.files.items() if not name.startswith(f"{folder}/")}

    def moved(self, folder, to):
        return {(to + name[len(folder):] if name.startswith(f"{folder}/") else name): text
                for name, text in self.files.items()}


class Killed:
    """A volume whose commands are killed; what it must have is in the model."""

    def __init__(self, runnel, store, settle, folder):
        self.runnel = runnel
        self.settle = settle
        self.folder = folder
        self.dice = random.Random(SEED)
        self.model = Model(self.dice)
        self.usual = 0.1  # Seconds that commands have taken that were left alone.
        self.kills = 0
        self.kept = {}  # The files of versions, by id.
        runnel.run("volume", "create", "data", "--store", store)

    def change(self):
        """Words of a command, and the files that there are when it has been done."""
        folders = self.model.folders()
        kind = self.dice.choice(["put", "put", "put", "rm", "mv", "gc", "gc"]) if folders else "put"
        if kind == "put":
            files = self.model.put()
            shutil.rmtree(self.folder / "source", ignore_errors=True)
            after = self.model.files | {name: digest(content) for name, content in files.items()}
            return ("put", tree(self.folder / "source", files), "data"), after
        if kind == "gc":
            return ("gc", "data", *self.dice.choice([(), ("--keep", "0s")])), self.model.files
        folder = self.dice.choice(folders)
        if kind == "rm":
            return ("rm", f"data:/{folder}"), self.model.without(folder)
        to = f"e{self.dice.randrange(1_000_000)}"
        return ("mv", f"data:/{folder}", f"data:/{to}"), self.model.moved(folder, to)

    def ends(self, processes):
        """Kills each at a moment of its own, or leaves all alone; which have come to their end."""
        ended = []
        begun = time.monotonic()
        is_left_alone = self.dice.random() < 0.2
        for process in processes:
            moment = self.dice.uniform(0, 1.3 * self.usual)
            try:
                _, err = process.communicate(timeout=None if is_left_alone else moment)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                _, err = process.communicate()
                self.kills += 1
            assert process.returncode in (0, -signal.SIGKILL), err
            ended.append(process.returncode == 0)
        if is_left_alone:
            self.usual = 0.8 * self.usual + 0.2 * (time.monotonic() - begun)
        return ended

    def round(self):
        words, after = self.change()
        processes = [self.runnel.start("volume", *words)]
        if self.dice.random() < 0.2:
            processes.append(self.runnel.start("volume", "gc", "data"))
        is_done = self.ends(processes)[0]
        self.settle()
        files = self.newest()
        assert files == after or (not is_done and files == self.model.files), (words, sorted(files))
        self.model.files = files
        for newest in self.runnel.json("volume", "versions", "data")["versions"][:1]:
            self.kept[newest["version"]] = files

    def newest(self, version="latest"):
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        if not self.runnel.json("volume", "versions", "data")["versions"]:
            return {}
        self.runnel.run("volume", "get", f"data@{version}", copy)
        return {str(path.relative_to(copy)): digest(path.read_bytes()) for path in copy.rglob("*") if path.is_file()}

    def objects(self):
        """Keys by the time when they were put, for the message of a test that finds one too many."""
        found = [path for path in self.folder.rglob("data/*/*") if path.is_file()]
        return [str(path.relative_to(self.folder)) for path in sorted(found, key=lambda path: path.stat().st_mtime)]

    def check_all(self):
        """Nothing is left behind, nothing is damaged, and the versions that there are have what they had."""
        for _ in range(2):
            self.runnel.run("volume", "gc", "data")
        told = self.runnel.json("volume", "gc", "data", "--dry-run")
        assert told["objects"] == 0, (told, self.objects())
        assert self.runnel.json("volume", "stat", "data")["sessions"] == 0
        self.runnel.run("volume", "fsck", "data")
        there = [each["version"] for each in self.runnel.json("volume", "versions", "data")["versions"]]
        assert there and there[0] in self.kept
        for version in there:
            assert version not in self.kept or self.newest(version) == self.kept[version]


def is_served(port):
    """Whether the server of a port is still at the request of somebody who is gone: its end of the connection is open."""
    closed_by_client = "08"
    lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(fields[1].endswith(f":{port:04X}") and fields[3] == closed_by_client for fields in lines)


@pytest.fixture(params=["folder", "s3"])
def store(request, runnel, tmp_path):
    """The URL of a store, and what waits until it has done all that those who were killed have asked of it."""
    if request.param == "folder":
        yield f"file://{tmp_path}/store", lambda: None
        return
    folder = tmp_path / "s3"
    folder.mkdir()
    server = S3Server(folder)
    try:
        runnel.env.update(server.start().env)
        yield "s3://bkt/volumes", lambda: runnel.until(lambda: not is_served(server.port))
    finally:
        server.stop()


def test_whatever_is_killed_a_volume_is_whole(runnel, store, tmp_path):
    killed = Killed(runnel, *store, tmp_path)
    while killed.kills < KILLS:
        killed.round()
    killed.check_all()
