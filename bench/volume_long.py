"""A file of 2 GiB: in sequence over a link, from the cache on the disk, at random; and the memory it takes. V14-V16, V27, V28."""

import os
import time

from mount_peers import peers_here
from small_files import forget
from store_lab import BIN, figures as run, memory_mb
from volume_figures import median, span

LINK = 300  # MB/s
GET_PART = 8 << 20
READ_PART = 1 << 20
BLOCK = 4 << 10
MEDIUM = 256 << 20


def noise_file(path, size):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        for begin in range(0, size, 64 << 20):
            file.write(os.urandom(min(64 << 20, size - begin)))
    return path


class LongFile:
    def __init__(self, lab, figures, given):
        self.lab, self.figures, self.given = lab, figures, given
        self.size = given.long_bytes
        self.source = noise_file(lab.folder / "long/file", self.size)
        self.medium = noise_file(lab.folder / "long/medium", MEDIUM)
        lab.lay("long", self.source.parent)
        self.put_seconds = lab.make_volume("long", self.source.parent)
        _, self.bytes, self.sum = run([BIN / "long_reader", self.source, "sequential", READ_PART])

    def run(self):
        self.figures.title(f"a file of {self.size >> 20} MiB and one of {MEDIUM >> 20} MiB: put in {self.put_seconds:.2f} s, "
                           f"{(self.size + MEDIUM) / 1e6 / self.put_seconds:.0f} MB/s")
        self.in_sequence(LINK)
        self.in_sequence(0)
        self.from_the_cache()
        self.at_random(self.given.random_reads)
        self.at_random(20 * self.given.random_reads)
        self.many_connections()
        self.nearly_in_sequence()
        self.by_many_handles()

    def read(self, folder, *how, name="file"):
        return run([BIN / "long_reader", folder / name, *how])

    def whole(self, taken):
        """MB/s of a read of the whole file, of which each byte is what was put."""
        seconds, size, total = taken
        assert (size, total) == (self.bytes, self.sum), "other bytes than were put"
        return size / 1e6 / seconds

    def in_sequence(self, link):
        self.lab.proxy.tell(f"rate={link}MB")
        peers = [] if self.given.no_peers else [peer for peer in peers_here(self.lab) if peer.name != "s3backer"]
        taken, memory = {}, []
        for _ in range(self.given.rounds):
            forget()
            taken.setdefault("8 GETs", []).append(self.whole(self.lab.gets(8, "sequential", "long/file", self.size, GET_PART)))
            forget()
            with self.lab.mounted("long") as (folder, _):
                (server,) = self.lab.servers()
                taken.setdefault("runnel", []).append(self.whole(self.read(folder, "sequential", READ_PART)))
                memory.append(memory_mb(server, "VmHWM"))
            for peer in peers:
                forget()
                with peer.mounted("long") as (folder, _):
                    taken.setdefault(peer.name, []).append(self.whole(self.read(folder, "sequential", READ_PART)))
        self.lab.proxy.tell("rate=0")
        self.figures.title(f"in sequence, cold, {f'a link of {link} MB/s' if link else 'as fast as it goes'}; all bytes checked")
        for name, rates in taken.items():
            self.figures.say(f"  {name:8} {span(rates, ' MB/s')}")
        self.figures.say(f"  the server's memory at most {max(memory):.0f} MB")
        ours, gets = median(taken["runnel"]), median(taken["8 GETs"])
        best = max((median(taken[peer.name]) for peer in peers), default=None)
        if link:
            self.figures.wanted("of the link", ours / link, 0.95, least=True)
        else:
            self.figures.wanted("of 8 GETs, cold", ours / gets, 0.6, least=True)
            if best:
                self.figures.wanted("of the best other mount", ours / best, 1.5, " x", least=True)

    def from_the_cache(self):
        options = ("--cache", str(self.lab.folder / "cache"), "--cache-size", f"{self.size + (512 << 20)}B")
        with self.lab.mounted("long", *options) as (folder, _):
            self.whole(self.read(folder, "sequential", READ_PART))
        disk, ours, requests = [], [], []
        for _ in range(self.given.rounds):
            forget()
            disk.append(self.whole(run([BIN / "long_reader", self.source, "sequential", READ_PART])))
            forget()
            with self.lab.mounted("long", *options) as (folder, _):
                self.lab.proxy.tell("zero")
                ours.append(self.whole(self.read(folder, "sequential", READ_PART)))
                requests.append(self.lab.proxy.requests("GET"))
        self.figures.title("in sequence from the cache on the disk, page cache empty")
        self.figures.say(f"  disk {span(disk, ' MB/s')}, mount {span(ours, ' MB/s')}; GETs of the store: {requests}")
        self.figures.wanted("of the disk", median(ours) / median(disk), 0.65, least=True)

    def at_random(self, count):
        gets, ours = [], []
        for _ in range(self.given.rounds):
            forget()
            seconds, _, expected = self.lab.gets(1, "random", "long/file", self.size, BLOCK, count)
            gets.append(count / seconds)
            forget()
            with self.lab.mounted("long") as (folder, _):
                seconds, _, total = self.read(folder, "random", BLOCK, count)
            assert total == expected, "other bytes than were put"
            ours.append(count / seconds)
        self.figures.title(f"{count} reads of 4 KiB at random, cold")
        self.figures.say(f"  a loop of GETs {span(gets, ' /s')}, mount {span(ours, ' /s')}")
        first_touch = count == self.given.random_reads
        self.figures.wanted(f"of the loop of GETs, {count} reads", median(ours) / median(gets), 0.9 if first_touch else 3, " x", least=True)

    def many_connections(self):
        """V14: what one connection cannot carry."""
        self.lab.proxy.tell("latency=20ms", "connection_rate=50MB")
        one = MEDIUM / 1e6 / self.lab.gets(1, "sequential", "long/medium", MEDIUM, GET_PART)[0]
        eight = MEDIUM / 1e6 / self.lab.gets(8, "sequential", "long/medium", MEDIUM, GET_PART)[0]
        ours = []
        for _ in range(self.given.rounds):
            forget()
            with self.lab.mounted("long") as (folder, _):
                seconds, size, _ = self.read(folder, "sequential", READ_PART, name="medium")
            ours.append(size / 1e6 / seconds)
        self.lab.proxy.tell("latency=0ms", "connection_rate=0")
        self.figures.title(f"{MEDIUM >> 20} MiB in sequence, 20 ms a request, 50 MB/s a connection")
        self.figures.say(f"  GETs by 1 connection {one:.0f} MB/s, by 8 {eight:.0f} MB/s; mount {span(ours, ' MB/s')}")
        self.figures.wanted("of one connection", median(ours) / one, 5, " x", least=True)

    def nearly_in_sequence(self):
        """V16: a reader that skips, and goes back a little for what it has skipped."""
        self.lab.proxy.tell("latency=20ms", f"rate={LINK}MB")
        block, order = 128 << 10, (0, 1, 3, 2, 4, 6, 5, 7)
        figures = {}
        for name, places in (("sequential", range(8)), ("skips", order)):
            for _ in range(self.given.rounds):
                forget()
                with self.lab.mounted("long") as (folder, _):
                    self.lab.proxy.tell("zero")
                    begin = time.monotonic()
                    with open(folder / "medium", "rb", buffering=0) as file:
                        for group in range(0, MEDIUM // block, len(order)):
                            for place in places:
                                file.seek((group + place) * block)
                                file.read(block)
                    seconds = time.monotonic() - begin
                    down = self.lab.proxy.counts()["methods"]["GET"]["down"]
                figures.setdefault(name, []).append((seconds, down))
        self.lab.proxy.tell("latency=0ms", "rate=0")
        seconds, down = ({name: median(column) for name, column in
                          ((name, [row[at] for row in rows]) for name, rows in figures.items())} for at in (0, 1))
        self.figures.title(f"{MEDIUM >> 20} MiB by a reader with skips and steps back, 20 ms a request, {LINK} MB/s")
        self.figures.say(f"  {seconds['skips']:.2f} s, {down['skips'] / 1e6:.0f} MB fetched; in sequence {seconds['sequential']:.2f} s, "
                         f"{down['sequential'] / 1e6:.0f} MB")
        self.figures.wanted("bytes beside a sequential reader", down["skips"] / down["sequential"], 1.1, " x")
        self.figures.wanted("time beside a sequential reader", seconds["skips"] / seconds["sequential"], 1.2, " x")

    def by_many_handles(self):
        """V27, V28: 200 open files, 128 KiB at random; then nobody reads any more."""
        with self.lab.mounted("long") as (folder, _):
            (server,) = self.lab.servers()
            idle = memory_mb(server, "VmRSS")
            seconds, size, _ = self.read(folder, "handles", 128 << 10, 200, self.given.handle_seconds)
            most = memory_mb(server, "VmHWM")
            time.sleep(10)
            after = memory_mb(server, "VmRSS")
        self.figures.title(f"200 open files, 128 KiB at random for {self.given.handle_seconds} s")
        self.figures.say(f"  {size / 1e6 / seconds:.0f} MB/s; the server's memory idle {idle:.0f} MB, at most {most:.0f} MB, "
                         f"10 s after {after:.0f} MB")
        self.figures.wanted("memory at most", most, 512, " MB")
        self.figures.wanted("memory 10 s after, beside idle", after / idle, 1.1, " x")
