"""What a decision of the brain costs on a full cluster: one JSON object per size of cluster.

usage: bench/planner.py [--seconds N]
"""

import argparse
import json
import os
import platform
import subprocess

from home import ROOT

BENCH = ROOT / "build/release/bin/planner_bench"
SIZES = ((8, 40, 40), (300, 10_000, 1_000))  # Nodes, lanes, waiting steps.


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10, help="for each kind of decision")
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    host = {"machine": platform.machine(), "cores": os.cpu_count(), "commit": commit.strip()}
    for size in SIZES:
        command = [BENCH, *map(str, size), str(arguments.seconds)]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(json.dumps(host | row), flush=True)


if __name__ == "__main__":
    main()
