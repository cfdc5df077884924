"""`make bench`: short tasks against a bare spawn loop and other systems, in turn; then scale and latency.

usage: bench/run.py [--tasks N] [--pairs N] [--no-peers] [--no-scale]

Prints the host, the commit, and per case the median rates and the ratio pair by pair. A pair is our run
and the bare loop directly after each other, so that a machine that drifts drifts for both.
"""

import argparse
import os
import platform
import statistics
import subprocess

import peers
import scale
from home import ROOT, Home

BARE = ROOT / "build/release/bin/bare_spawn_bench"


def bare(count, command):
    out = subprocess.run([BARE, str(count), *command], check=True, capture_output=True, text=True).stdout
    return float(out)


def pairs(title, count, rounds, line, command):
    """Prints one row and returns our median rate."""
    ours, floor, ratios = [], [], []
    with Home() as home:
        for _ in range(rounds):
            ours.append(home.rate(count, line))
            floor.append(bare(count, command))
            ratios.append(ours[-1] / floor[-1])
    print(f"{title:<34} {statistics.median(ours):9.0f}/s  bare {statistics.median(floor):7.0f}/s  "
          f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})", flush=True)
    return statistics.median(ours)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-scale", action="store_true")
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    print(f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, commit {commit.strip()}, "
          f"{arguments.tasks} tasks, {arguments.pairs} pairs")
    rate = pairs("command: [/bin/true]", arguments.tasks, arguments.pairs, "command: [/bin/true]", ["/bin/true"])
    pairs("run: /bin/true", arguments.tasks, arguments.pairs, "run: /bin/true", ["/bin/sh", "-ec", "/bin/true"])
    if not arguments.no_peers:
        peers.all_of(arguments.tasks)
    if not arguments.no_scale:
        scale.all_of(rate)


if __name__ == "__main__":
    main()
