"""How large packs should be (V4), an index of 1,000,000 entries (V5), and what checkpoints share (V36)."""

import hashlib
import json
import os
import shutil
import subprocess
import time

from small_files import forget, make_files, read_twice
from store_lab import memory_mb
from volume_figures import median

MEBI = 1 << 20
PACKS = (1, 4, 16, 32, 64, 128)
LS = (10_000, 100_000)
LS_S = {10_000: 0.2, 100_000: 1.0}
MANY = 1_000  # Entries of the other folders.


class PackSizes:
    """A table by which the default was chosen: put, cold reads, and what is fetched in vain for a file here and there."""

    def __init__(self, lab, figures, given):
        self.lab, self.figures, self.given = lab, figures, given
        self.source = lab.folder / "mixed"
        self.paths = make_files(self.source / "small", 20_000, 3_000) + make_files(self.source / "images", 2_000, 100_000)
        self.bytes = sum(path.stat().st_size for path in self.paths)

    def run(self):
        self.figures.title(f"size of packs; {len(self.paths)} files of 3 and 100 KB, {self.bytes / 1e6:.0f} MB, 20 ms a request")
        self.figures.say("  MiB   put s   packs   cold read: ms, MB/s, GETs   100 files at random: ms, GETs, MB fetched of MB wanted")
        for size in PACKS:
            self.one(size)

    def one(self, size):
        name = f"packs-{size}"
        self.lab.proxy.tell("latency=20ms")
        put = self.lab.make_volume(name, self.source, "--pack-size", f"{size}MiB")
        packs = len(list((self.lab.bucket / "volumes" / name / "p").iterdir()))
        cold = [self.read_all(name) for _ in range(min(3, self.given.rounds))]
        milliseconds, gets = (median(column) for column in zip(*cold))
        some, some_gets, down, wanted = self.read_some(name)
        self.lab.proxy.tell("latency=0ms")
        self.figures.say(f"  {size:3} {put:7.2f} {packs:7} {milliseconds:9.0f} {self.bytes / 1e3 / milliseconds:7.0f} {gets:6.0f}"
                         f" {some:14.0f} {some_gets:6} {down / 1e6:8.1f} of {wanted / 1e6:.1f}")

    def read_all(self, name):
        forget()
        with self.lab.mounted(name) as (folder, _):
            self.lab.proxy.tell("zero")
            return read_twice("C++", folder)[0], self.lab.proxy.requests("GET")

    def read_some(self, name):
        forget()
        chosen = self.paths[::len(self.paths) // 100][:100]
        with self.lab.mounted(name) as (folder, _):
            self.lab.proxy.tell("zero")
            begin = time.monotonic()
            wanted = sum(len((folder / path.relative_to(self.source)).read_bytes()) for path in chosen)
            seconds = time.monotonic() - begin
            counts = self.lab.proxy.counts()["methods"]["GET"]
        return 1e3 * seconds, counts["requests"], counts["down"], wanted


class LargeIndex:
    def __init__(self, lab, figures, given):
        self.lab, self.figures, self.given = lab, figures, given
        self.source = lab.folder / "entries"

    def make(self):
        """Each file has bytes of its own, though few: what is measured is the index."""
        rest = self.given.entries - sum(LS)
        folders = [(f"ls-{count}", count) for count in LS] + [(f"many-{number:04}", MANY) for number in range(max(0, rest) // MANY)]
        for name, count in folders:
            folder = self.source / name
            folder.mkdir(parents=True)
            for number in range(count):
                file = os.open(f"{folder}/{number:08}.jpg", os.O_CREAT | os.O_WRONLY)
                os.write(file, f"{name}/{number}".encode())
                os.close(file)
        return sum(count + 1 for _, count in folders)

    def run(self):
        entries = self.make()
        put = self.lab.make_volume("index", self.source)
        shutil.rmtree(self.source)
        index = self.lab.bucket / "volumes/index/i"
        self.figures.title(f"an index of {entries} entries: put {put:.1f} s; {sum(path.stat().st_size for path in index.iterdir()) / 1e6:.1f} MB "
                           f"in {len(list(index.iterdir()))} objects; 20 ms a request")
        self.lab.proxy.tell("latency=20ms")
        mounting, listing, memory = [], {count: [] for count in LS}, []
        for _ in range(self.given.rounds):
            forget()
            with self.lab.mounted("index") as (folder, seconds):
                mounting.append(seconds)
                (server,) = self.lab.servers()
                for count in LS:
                    begin = time.monotonic()
                    listed = subprocess.check_output(["ls", folder / f"ls-{count}"])
                    listing[count].append(time.monotonic() - begin)
                    assert listed.count(b"\n") == count
                memory.append(memory_mb(server, "VmHWM"))
        self.figures.wanted("mount", median(mounting), 0.5, " s")
        for count in LS:
            self.figures.wanted(f"ls of {count}, cold", median(listing[count]), LS_S[count], " s")
        self.figures.wanted("the server's memory after both", max(memory), 150, " MB")
        self.walk_all()
        self.lab.proxy.tell("latency=0ms")

    def walk_all(self):
        forget()
        with self.lab.mounted("index") as (folder, _):
            self.lab.proxy.tell("zero")
            begin = time.monotonic()
            subprocess.run(["find", folder, "-size", "+1M"], check=True, stdout=subprocess.DEVNULL)
            seconds = time.monotonic() - begin
            (server,) = self.lab.servers()
            self.figures.say(f"  find with the size of each: {seconds:.1f} s, {self.lab.proxy.requests('GET')} GETs; "
                             f"the server's memory at most {memory_mb(server, 'VmHWM'):.0f} MB")
            self.figures.wanted("the server's memory after a walk of all", memory_mb(server, "VmHWM"), 300, " MB")


class Checkpoints:
    """Each has 64 tensors of 1 MiB, of which one in twenty is another than before."""

    COUNT, TENSORS, CHANGED = 20, 64, 0.05

    def __init__(self, lab, figures, given):
        self.lab, self.figures, self.given = lab, figures, given
        self.file = lab.folder / "checkpoints/model.bin"

    def run(self):
        self.file.parent.mkdir()
        tensors = [os.urandom(MEBI) for _ in range(self.TENSORS)]
        changed, stored, hashes = 0.0, [], []
        for number in range(self.COUNT):
            changed += self.TENSORS * self.CHANGED if number else 0
            while changed >= 1:
                tensors[(number * 7 + int(changed) * 13) % self.TENSORS] = os.urandom(MEBI)
                changed -= 1
            content = b"".join(tensors)
            self.file.write_bytes(content)
            hashes.append(hashlib.sha256(content).hexdigest())
            (self.lab.put if number else self.lab.make_volume)("checkpoints", self.file.parent)
            stored.append(sum(path.stat().st_size for path in (self.lab.bucket / "volumes/checkpoints").rglob("*") if path.is_file()))
        self.figures.title(f"{self.COUNT} checkpoints of {self.TENSORS} tensors of 1 MiB, 5 % changed each")
        self.figures.say(f"  one {stored[0] / 1e6:.1f} MB, all {stored[-1] / 1e6:.1f} MB")
        self.figures.wanted("stored beside one checkpoint", stored[-1] / stored[0], 2.2, " x")
        self.restore(hashes)

    def restore(self, hashes):
        versions = json.loads(self.lab.home.call("volume", "versions", "checkpoints", "-o", "json"))["versions"]
        for version, expected in zip(reversed(versions), hashes, strict=True):
            copy = self.lab.folder / "checkpoint"
            self.lab.home.call("volume", "get", f"checkpoints@{version['version']}:/model.bin", str(copy))
            assert hashlib.sha256(copy.read_bytes()).hexdigest() == expected, version
