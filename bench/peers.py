"""The same short process run by others, as many at once as there are cores."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from home import ROOT
from slurm import SLOTS, Slurm

RAY_PYTHON = ROOT / "build/bench-venv/bin/python"
SLOW_ONES = 2_000  # A peer of a few hundred tasks per second is not worth waiting for longer.

RAY_SCRIPT = """
import subprocess, sys, time
import ray
ray.init(num_cpus=2, include_dashboard=False, logging_level="error", _node_ip_address="127.0.0.1")
@ray.remote
def task(): return subprocess.call(["/bin/true"])
ray.get([task.remote() for _ in range(100)])
count = int(sys.argv[1])
begin = time.monotonic()
ray.get([task.remote() for _ in range(count)])
print(time.monotonic() - begin)
"""


def show(title, count, seconds):
    print(f"{title:<34} {count / seconds:9.0f}/s", flush=True)


def missing(title, what):
    print(f"{title:<34} not measured: {what} is not there (tools/setup.sh --bench)", flush=True)


def command(title, count, words, text=None):
    if shutil.which(words[0]) is None:
        missing(title, words[0])
        return
    begin = time.monotonic()
    subprocess.run(words, check=True, input=text, text=True, capture_output=True)
    show(title, count, time.monotonic() - begin)


def make(count):
    with tempfile.TemporaryDirectory() as folder:
        targets = " ".join(f"t{n}" for n in range(count))
        pathlib.Path(folder, "Makefile").write_text(f"all: {targets}\n{targets}:\n\t@/bin/true\n")
        command("make -j2", count, ["make", "-s", "-j2", "-C", folder])


def ray(count):
    if not RAY_PYTHON.exists():
        missing("Ray, a process per task", "Ray")
        return
    # A network of its own with nothing but loopback: it shall not look for anything outside.
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    env = dict(os.environ, RAY_USAGE_STATS_ENABLED="0")
    done = subprocess.run([*alone, RAY_PYTHON, "-c", RAY_SCRIPT, str(count)], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        missing("Ray, a process per task", done.stderr.strip().splitlines()[-1])
        return
    show("Ray, a process per task", count, float(done.stdout.split()[-1]))


def slurm(count):
    if shutil.which("slurmctld") is None:
        missing("Slurm, job array", "slurmctld")
        return
    with Slurm() as cluster:
        show(f"Slurm, job array, {SLOTS} at once", count, cluster.array_seconds(count))


def all_of(count):
    numbers = "\n".join(map(str, range(count))) + "\n"
    some = min(count, SLOW_ONES)
    command("xargs -P2 -n1", count, ["xargs", "-P2", "-n1", "/bin/true"], numbers)
    make(count)
    command("GNU parallel -j2", some, ["parallel", "-j2", "/bin/true"], "\n".join(map(str, range(some))) + "\n")
    ray(some)
    slurm(min(count, 1_000))
