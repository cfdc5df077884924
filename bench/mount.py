"""Many small files from a mount beside the same files on the local disk, cold and again, by a C++ and a Python reader.

usage: bench/mount.py [--files N] [--bytes N] [--rounds N] [--store URL] [--cpu N]

Cold: nothing in the kernel's memory, mount and walk inside the time. Rounds alternate; medians are printed. Root only.
"""

import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time

from home import ROOT, Home
from small_files import READERS, forget, make_files, read_twice


def mounted(home, folder, reader):
    begin = time.perf_counter()
    home.call("volume", "mount", "-d", "data", str(folder))
    mounting = 1e3 * (time.perf_counter() - begin)
    cold, again = read_twice(reader, folder)
    subprocess.run(["umount", folder], check=True)
    return mounting, mounting + cold, again


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--files", type=int, default=10_000)
    options.add_argument("--bytes", type=int, default=3_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--store")
    options.add_argument("--cpu", type=int, help="one processor for reader and server, as the floors were measured")
    given = options.parse_args()
    if given.cpu is not None:
        os.sched_setaffinity(0, {given.cpu})
    with tempfile.TemporaryDirectory(prefix="runnel-mount-", dir=ROOT / "build") as work, Home() as home:
        source, folder = pathlib.Path(work) / "source", pathlib.Path(work) / "mnt"
        folder.mkdir()
        make_files(source, given.files, given.bytes)
        home.call("volume", "create", "data", "--store", given.store or f"file://{work}/store")
        begin = time.perf_counter()
        home.call("volume", "put", str(source), "data")
        put = time.perf_counter() - begin
        figures = {reader: {"disk": [], "mount": []} for reader in READERS}
        for _ in range(given.rounds):
            for reader, taken in figures.items():
                forget()
                taken["disk"].append(read_twice(reader, source))
                forget()
                taken["mount"].append(mounted(home, folder, reader))
        print(f"{platform.node()}  {given.files} files of {given.bytes} bytes, {given.rounds} rounds; put {put:.2f} s")
        for reader, taken in figures.items():
            disk_cold, disk_again = (statistics.median(column) for column in zip(*taken["disk"]))
            mounting, cold, again = (statistics.median(column) for column in zip(*taken["mount"]))
            print(f"{reader:7} cold: disk {disk_cold:.0f} ms, mount {cold:.0f} ms ({mounting:.0f} of it mounting): {cold / disk_cold:.2f} x;  "
                  f"again: disk {disk_again:.0f} ms, mount {again:.0f} ms: {again / disk_again:.2f} x")


if __name__ == "__main__":
    main()
