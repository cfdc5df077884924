"""`make bench`: the durable rate of short tasks against a bare spawn loop and other systems, in turn.

usage: bench/run.py [--tasks N] [--pairs N] [--peers]

Prints the host, the commit, and per case the median rates and the ratio pair by pair. A pair is our run
and the bare loop directly after each other, so that a machine that drifts drifts for both.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNNEL = ROOT / ".venv/bin/runnel"
BARE = ROOT / "build/release/bin/bare_spawn_bench"


def bare(count, command):
    out = subprocess.run([BARE, str(count), *command], check=True, capture_output=True, text=True).stdout
    return float(out)


class Home:
    """A home whose daemon is up, gone with its folder at the end."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="runnel-bench."))
        self.env = dict(os.environ, RUNNEL_HOME=str(self.folder / "home"))
        self.call("home")
        return self

    def __exit__(self, *_):
        info = json.loads(self.call("home", "-o", "json"))
        for key in ("daemon_pid", "runner_pid"):
            try:
                os.kill(info[key], 15)
            except ProcessLookupError:
                pass
        time.sleep(0.2)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, *words):
        return subprocess.run([RUNNEL, *words], check=True, capture_output=True, text=True, env=self.env).stdout

    def rate(self, count, line):
        job = self.folder / "job.yaml"
        job.write_text(f"params: {{n: {{range: [1, {count}]}}}}\nresources: {{cpus: 1}}\n{line}\n")
        begin = time.monotonic()
        name = self.call("up", "-f", str(job), "-o", "name").strip()
        self.call("wait", name)
        took = time.monotonic() - begin
        document = json.loads(self.call("show", name, "-o", "json"))
        assert document["status"] == "SUCCEEDED", document
        return count / took


def pairs(title, count, rounds, line, command):
    ours, floor, ratios = [], [], []
    with Home() as home:
        for _ in range(rounds):
            ours.append(home.rate(count, line))
            floor.append(bare(count, command))
            ratios.append(ours[-1] / floor[-1])
    print(f"{title:<34} {statistics.median(ours):9.0f}/s  bare {statistics.median(floor):7.0f}/s  "
          f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})", flush=True)


def peer(title, count, command, text=None):
    if shutil.which(command[0]) is None:
        print(f"{title:<34} not installed")
        return
    begin = time.monotonic()
    subprocess.run(command, check=True, input=text, text=True, capture_output=True)
    print(f"{title:<34} {count / (time.monotonic() - begin):9.0f}/s", flush=True)


def peers(count):
    numbers = "\n".join(map(str, range(count))) + "\n"
    peer("xargs -P2 -n1", count, ["xargs", "-P2", "-n1", "/bin/true"], numbers)
    with tempfile.TemporaryDirectory() as folder:
        makefile = pathlib.Path(folder) / "Makefile"
        targets = " ".join(f"t{n}" for n in range(count))
        makefile.write_text(f"all: {targets}\n{targets}:\n\t@/bin/true\n")
        peer("make -j2", count, ["make", "-s", "-j2", "-C", folder])
    some = min(count, 2_000)
    peer("GNU parallel -j2", some, ["parallel", "-j2", "/bin/true"], "\n".join(map(str, range(some))) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--no-peers", action="store_true")
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    print(f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, commit {commit.strip()}, "
          f"{arguments.tasks} tasks, {arguments.pairs} pairs")
    pairs("command: [/bin/true]", arguments.tasks, arguments.pairs, "command: [/bin/true]", ["/bin/true"])
    pairs("run: /bin/true", arguments.tasks, arguments.pairs, "run: /bin/true", ["/bin/sh", "-ec", "/bin/true"])
    if not arguments.no_peers:
        peers(arguments.tasks)


if __name__ == "__main__":
    main()
