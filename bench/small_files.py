"""Many small files, and who reads them: a program in C++, and one in Python."""

import os
import pathlib
import subprocess
import sys

from home import ROOT

READER = ROOT / "build/release/bin/tree_reader"
PYTHON_READER = """
import os, sys, time
def one():
    begin = time.perf_counter()
    files = [os.path.join(folder, name) for folder, _, names in os.walk(sys.argv[1]) for name in names]
    walked = time.perf_counter()
    size = 0
    for name in files:
        with open(name, 'rb') as file: size += len(file.read())
    print(len(files), size, 1e3 * (walked - begin), 1e3 * (time.perf_counter() - walked))
one(); one()
"""
READERS = {"C++": [str(READER)], "Python": [sys.executable, "-c", PYTHON_READER]}
PER_FOLDER = 1_000


def make_files(folder, count, size):
    """Files of noise below a folder, which is made; their paths."""
    paths = []
    for number in range(count):
        path = folder / f"{number // PER_FOLDER:03}"
        path.mkdir(parents=True, exist_ok=True)
        paths.append(path / f"{number:06}.bin")
        paths[-1].write_bytes(os.urandom(size))
    return paths


def forget():
    """Empties the kernel's memory of files and names."""
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def read_twice(reader, folder):
    """Milliseconds of a first pass, with its walk, and of the reads of a second one."""
    words = [*READERS[reader], str(folder)] + (["--twice"] if reader == "C++" else [])
    first, second = (line.split() for line in subprocess.check_output(words, text=True).splitlines())
    return float(first[2]) + float(first[3]), float(second[3])
