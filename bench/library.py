"""Many small files through the library beside the same files in a mount: a Python reader, cold and again.

usage: bench/library.py [--files N] [--bytes N] [--rounds N] [--store URL] [--cpu N]

Cold: nothing in the kernel's memory; mounting, or opening the volume and importing runnel.data, and the walk inside the time.
Rounds alternate; medians are printed, and the ratio of the pairs. Root only.
"""

import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

from home import ROOT, Home
from mount import forget, make_files, mounted

READER = """
import os, sys, time
begin = time.perf_counter()
from runnel.data import Volume
volume = Volume("data")
load = volume.load if sys.argv[1] == "load" else lambda name: volume.open(name).read()
def one(begin):
    files = [os.path.join(folder, name) for folder, _, names in volume.walk() for name in names]
    walked = time.perf_counter()
    size = sum(len(load(name)) for name in files)
    print(len(files), size, 1e3 * (walked - begin), 1e3 * (time.perf_counter() - walked))
one(begin); one(time.perf_counter())
"""


def opened(home, how, count, size):
    """Milliseconds of a first pass, with opening and walk, and of the reads of a second one."""
    text = subprocess.check_output([sys.executable, "-c", READER, how], text=True, env=home.env)
    first, second = (line.split() for line in text.splitlines())
    assert (int(first[0]), int(first[1])) == (count, count * size), text
    return float(first[2]) + float(first[3]), float(second[3])


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--files", type=int, default=10_000)
    options.add_argument("--bytes", type=int, default=3_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--store")
    options.add_argument("--cpu", type=int, help="one processor for readers and servers")
    given = options.parse_args()
    if given.cpu is not None:
        os.sched_setaffinity(0, {given.cpu})
    with tempfile.TemporaryDirectory(prefix="runnel-library-", dir=ROOT / "build") as work, Home() as home:
        source, folder = pathlib.Path(work) / "source", pathlib.Path(work) / "mnt"
        source.mkdir()
        folder.mkdir()
        make_files(source, given.files, given.bytes)
        home.call("volume", "create", "data", "--store", given.store or f"file://{work}/store")
        home.call("volume", "put", str(source), "data")
        rounds = []
        for _ in range(given.rounds):
            forget()
            mount = mounted(home, folder, "Python")[1:]
            taken = {"mount": mount}
            for how in ("load", "open"):
                forget()
                taken[how] = opened(home, how, given.files, given.bytes)
            rounds.append(taken)
        print(f"{platform.node()}  {given.files} files of {given.bytes} bytes, {given.rounds} rounds")
        for pass_, what in enumerate(("cold", "again")):
            figures = {how: [taken[how][pass_] for taken in rounds] for how in rounds[0]}
            mount = statistics.median(figures.pop("mount"))
            parts = [f"mount {mount:.0f} ms"]
            for how, times in figures.items():
                ratio = statistics.median(taken["mount"][pass_] / time for taken, time in zip(rounds, times))
                parts.append(f"{how}() {statistics.median(times):.0f} ms: the mount takes {ratio:.2f} x")
            print(f"{what:6} " + "; ".join(parts))


if __name__ == "__main__":
    main()
