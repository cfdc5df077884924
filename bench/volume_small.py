"""10,000 small files from an S3 server: beside the local disk, a loop of GETs, and other mounts. V2, V3, V20."""

import contextlib
import time

from mount_peers import peers_here
from small_files import READERS, forget, make_files, read_twice
from store_lab import in_a_row
from volume_figures import median, span

# Of the reader's time: wanted, cold and again, at most so many times the disk's and the page cache's.
COLD_X = 0.6
AGAIN_X = {"C++": 1.8, "Python": 2.5}
COLD_MS = 600
SLOW_MS_A_FILE = 0.06
IN_A_ROW = 4
PUT_S = 1.2
GET_LOOP_X = 20


class SmallFiles:
    def __init__(self, lab, figures, given):
        self.lab, self.figures, self.given = lab, figures, given
        self.source = lab.folder / "small"
        self.paths = make_files(self.source, given.files, given.bytes)
        self.few = lab.folder / "few"
        self.few_paths = make_files(self.few, given.peer_files, given.bytes)

    def run(self):
        self.put()
        for latency in self.given.latencies:
            self.lab.proxy.tell(f"latency={latency}ms")
            self.figures.title(f"{self.given.files} files of {self.given.bytes} bytes, {latency} ms a request")
            self.first_byte(latency)
            self.beside_the_disk(latency)
        for latency in self.given.latencies:
            self.lab.proxy.tell(f"latency={latency}ms")
            self.figures.title(f"{self.given.peer_files} of these files beside others, {latency} ms a request, C++ reader")
            self.beside_others(latency)
        self.lab.proxy.tell("latency=0ms")

    def put(self):
        self.figures.title(f"put of {self.given.files} files of {self.given.bytes} bytes")
        seconds, cold = [], []
        for number in range(self.given.rounds):
            seconds.append(self.lab.make_volume(f"small-{number}", self.source))
            forget()
            cold.append(self.lab.make_volume(f"cold-{number}", self.source))
        self.lab.make_volume("few", self.few)
        objects = sum(1 for path in (self.lab.bucket / "volumes/small-0").rglob("*") if path.is_file())
        self.figures.say(f"  {span(seconds, ' s')}, of a source that is not in memory {span(cold, ' s')}; {objects} objects")
        self.figures.wanted("put", median(seconds), PUT_S, " s")
        self.figures.wanted("objects of 100 files", 100 * objects / self.given.files, 1)

    def first_byte(self, latency):
        """From the command to the first byte of a file whose name is known."""
        name = self.paths[self.given.files // 2].relative_to(self.source)
        seconds, rows, all_visits = [], [], []
        for _ in range(self.given.rounds):
            forget()
            self.lab.proxy.tell("zero")
            begin = time.monotonic()
            with self.lab.mounted("small-0") as (folder, _):
                with open(folder / name, "rb") as file:
                    file.read(1)
                seconds.append(time.monotonic() - begin)
                all_visits = self.lab.proxy.visits()
            rows.append(in_a_row(all_visits))
        self.figures.say(f"  mount to first byte {span(seconds, ' s')}; requests {len(all_visits)}, in a row {rows}:")
        for method, target, status, _, down, begin, end in all_visits:
            self.figures.say(f"      {1e3 * begin:7.1f} - {1e3 * end:7.1f} ms {method} {target[-48:]} {status} {down} bytes")
        if latency:
            self.figures.wanted("requests in a row from mount to first byte", max(rows), IN_A_ROW)
            self.figures.wanted("mount to first byte at 20 ms", median(seconds), 0.5, " s")

    def beside_the_disk(self, latency):
        disk, ours = {reader: [] for reader in READERS}, {reader: [] for reader in READERS}
        requests = []
        for _ in range(self.given.rounds):
            for reader in READERS:
                forget()
                disk[reader].append(read_twice(reader, self.source))
                forget()
                self.lab.proxy.tell("zero")
                with self.lab.mounted("small-0") as (folder, mounting):
                    cold, again = read_twice(reader, folder)
                    requests.append(self.lab.proxy.requests("GET"))
                ours[reader].append((1e3 * mounting + cold, again, 1e3 * mounting))
        for reader in READERS:
            disk_cold, disk_again = (median(column) for column in zip(*disk[reader]))
            cold, again, mounting = (median(column) for column in zip(*ours[reader]))
            self.figures.say(f"  {reader:6} cold: disk {disk_cold:.0f} ms, mount {cold:.0f} ms ({mounting:.0f} mounting): "
                             f"{cold / disk_cold:.2f} x, {cold / self.given.files:.4f} ms a file; "
                             f"again: page cache {disk_again:.0f} ms, mount {again:.0f} ms: {again / disk_again:.2f} x; "
                             f"GETs {median(requests):.0f}")
            self.figures.wanted(f"{reader} again beside the page cache", again / disk_again, AGAIN_X[reader], " x")
            if latency:
                self.figures.wanted(f"{reader} cold at {latency} ms a request", cold / self.given.files, SLOW_MS_A_FILE, " ms a file")
            else:
                self.figures.wanted(f"{reader} cold beside the disk", cold / disk_cold, COLD_X, " x")
                self.figures.wanted(f"{reader} cold", cold, COLD_MS, " ms")

    # --- Others.

    def beside_others(self, latency):
        """One after another, round by round; ms a file, cold with the mount and the walk in it, and again."""
        count = self.given.peer_files
        names = self.lab.folder / "few-keys"
        names.write_text("".join(f"few/{path.relative_to(self.few)}\n" for path in self.few_paths))
        if not (self.lab.bucket / "plain/few").exists():
            self.lab.lay("few", self.few)
        peers = [] if self.given.no_peers else peers_here(self.lab)
        for peer in peers:
            if peer.name not in self.given.prepared:
                self.lab.proxy.tell("latency=0ms")
                peer.prepare("few")
                self.given.prepared.add(peer.name)
                self.lab.proxy.tell(f"latency={latency}ms")
        taken = {}
        rounds = self.given.rounds if not latency else min(self.given.rounds, self.given.slow_rounds)
        for _ in range(rounds):
            for name, figure in self.one_round(names, count, peers):
                taken.setdefault(name, []).append(figure)
        for name, rows in taken.items():
            cold, again, requests = (median(column) for column in zip(*rows))
            self.figures.say(f"  {name:24} cold {cold:9.4f} ms a file, again {again:8.4f}; {requests / count:.3f} requests a file")
        self.judge(taken, latency)

    def one_round(self, names, count, peers):
        yield "a loop of GETs", self.loop_of_gets(names, count, 1)
        yield "GETs, 32 connections", self.loop_of_gets(names, count, 32)
        yield "runnel", self.one(self.lab.mounted("few"), count)
        for peer in peers:
            yield peer.name, self.one(peer.mounted("few"), count)

    def loop_of_gets(self, names, count, connections):
        forget()
        self.lab.proxy.tell("zero")
        cold = self.lab.gets(connections, "files", names)[0]
        requests = self.lab.proxy.requests("GET")
        return 1e3 * cold / count, 1e3 * self.lab.gets(connections, "files", names)[0] / count, requests

    def one(self, mount, count):
        forget()
        self.lab.proxy.tell("zero")
        with contextlib.ExitStack() as stack:
            folder, mounting = stack.enter_context(mount)
            cold, again = read_twice("C++", folder)
            requests = self.lab.proxy.requests()
        return (1e3 * mounting + cold) / count, again / count, requests

    def judge(self, taken, latency):
        cold = {name: median([row[0] for row in rows]) for name, rows in taken.items()}
        if latency:
            self.figures.wanted("a loop of GETs beside runnel", cold["a loop of GETs"] / cold["runnel"], GET_LOOP_X, " x", least=True)
        for name in cold:
            if name != "runnel" and "GETs" not in name:  # Who gets knows the keys, and mounts nothing.
                self.figures.wanted(f"{name} beside runnel, cold at {latency} ms", cold[name] / cold["runnel"], 1, " x", least=True)
