"""Volumes on a real S3 server behind a proxy that adds latency, caps bandwidth and counts: tables beside the local disk,
bare GETs, and other mounts of the same bucket.

usage: bench/volume.py [--only small,long,packs,index,checkpoints] [--rounds N] [--no-peers] [...]

Cold is with nothing in the kernel's memory, the server's objects among it, and the mount inside the time. Whoever is
compared takes turns on the same cores, round by round; medians are printed, with ranges. Root only; 10 GB of the disk of
build/. Other mounts are those that are installed: tools/setup.sh --bench.
"""

import argparse
import os
import pathlib
import platform
import subprocess
import tempfile

from home import ROOT
from store_lab import StoreLab
from volume_figures import Figures
from volume_long import LongFile
from volume_scale import Checkpoints, LargeIndex, PackSizes
from volume_small import SmallFiles

TABLES = {"small": SmallFiles, "long": LongFile, "packs": PackSizes, "index": LargeIndex, "checkpoints": Checkpoints}


def parsed():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default=",".join(TABLES), help="tables, with commas between")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--slow-rounds", type=int, default=3, help="of others at a latency: they take half a minute each")
    options.add_argument("--no-peers", action="store_true")
    options.add_argument("--files", type=int, default=10_000)
    options.add_argument("--bytes", type=int, default=3_000)
    options.add_argument("--peer-files", type=int, default=300)
    options.add_argument("--latencies", type=lambda text: [int(each) for each in text.split(",")], default=[0, 20], help="ms")
    options.add_argument("--long-bytes", type=int, default=2 << 30)
    options.add_argument("--random-reads", type=int, default=1_000)
    options.add_argument("--handle-seconds", type=int, default=60)
    options.add_argument("--entries", type=int, default=1_000_000)
    options.add_argument("--cpu", type=int, help="one processor for readers and mounts, as the floors were measured; the store has all")
    given = options.parse_args()
    given.prepared = set()
    return given


def main():
    given = parsed()
    figures = Figures()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    figures.say(f"{platform.node()}, {platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, commit {commit}, "
                f"load {os.getloadavg()[0]:.1f}, {given.rounds} rounds")
    processors = os.sched_getaffinity(0)
    for name in given.only.split(","):
        os.sched_setaffinity(0, processors)
        with tempfile.TemporaryDirectory(prefix="runnel-volume-", dir=ROOT / "build") as work, \
                StoreLab(pathlib.Path(work)) as lab:
            if given.cpu is not None:
                os.sched_setaffinity(0, {given.cpu})
            TABLES[name](lab, figures, given).run()
            given.prepared.clear()
    figures.say(f"\nload at the end {os.getloadavg()[0]:.1f}")
    figures.summary()


if __name__ == "__main__":
    main()
