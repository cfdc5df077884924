"""Early stopping in a real home: 256 learning curves under ASHA, each trial a process with a checkpoint.

usage: bench/slots.py [--curves N] [--step-ms N]

Prints how many trials were paused and promoted, whether every promoted one went on at the step where it was paused,
and how long a place stayed free between the end of one trial's process and the start of the next one's.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess

from home import ROOT, Home

CURVES = ROOT / "build/release/bin/pruning_bench"
STEPS, PLACES = 64, 2

JOB = """
name: curves
params: {{curve: {{range: [1, {curves}]}}}}
search: {{metric: loss, mode: min, method: grid, max_trials: {curves}, pruner: {{method: asha, eta: 4, min_step: 1, max_step: {steps}}},
         parallel: {places}}}
checkpoint: {{dir: ckpt}}
resources: {{cpus: 1}}
run: |
  at=$(cat "$RUNNEL_CHECKPOINT_DIR/at" 2>/dev/null || echo 0)
  echo "from $at"
  set -- $(sed -n "{{{{curve}}}}p" {file})
  shift "$at"
  while [ $# -gt 0 ]; do
    at=$((at + 1))
    echo "$at" > "$RUNNEL_CHECKPOINT_DIR/at.part" && mv "$RUNNEL_CHECKPOINT_DIR/at.part" "$RUNNEL_CHECKPOINT_DIR/at"
    echo "{{\\"step\\": $at, \\"loss\\": $1}}" >> "$RUNNEL_METRICS_FILE"
    shift
    sleep {seconds}
  done
"""


def gaps(events):
    """Milliseconds from each end of an attempt to the start that took its place, while there are trials that wait."""
    last = max(place for place, event in enumerate(events) if event["type"] == "trial.asked")
    begun = next(place for place, event in enumerate(events) if place > last and event["type"] == "attempt.running")
    events = events[:begun + 1]
    started = sorted(event["started_at"] for event in events if event["type"] == "attempt.running")
    ended = sorted(event["ended_at"] for event in events if event["type"] == "attempt.ended")
    return [start - end for start, end in zip(started[PLACES:], ended)]


def resumed_wrong(home, job, tasks):
    """The trials of which an attempt did not go on at the last step that the one before had saved."""
    wrong = []
    for task in tasks:
        if task["attempts"] < 2:
            continue
        log = home.call("logs", job, "--task", str(task["index"]))
        starts = [int(step) for step in re.findall(r"from (\d+)", log)]
        series = json.loads(home.call("metrics", job, "--task", str(task["index"]), "-o", "json"))["series"][0]
        steps = [sample["step"] for sample in series["samples"]]
        # A step is said once: nobody began below a step that was saved, or left one out.
        if len(starts) != task["attempts"] or sorted(starts) != starts or steps != list(range(1, len(steps) + 1)):
            wrong.append(task["index"])
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--curves", type=int, default=256)
    parser.add_argument("--step-ms", type=int, default=20)
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    print(f"{platform.machine()}, {os.cpu_count()} cores, commit {commit.strip()}, {arguments.curves} curves of {STEPS} steps")
    with Home() as home:
        curves = home.folder / "curves"
        curves.write_text(subprocess.run([CURVES, "curves", "0"], check=True, capture_output=True, text=True).stdout)
        file = home.folder / "job.yaml"
        file.write_text(JOB.format(curves=arguments.curves, steps=STEPS, places=PLACES, file=curves,
                                   seconds=arguments.step_ms / 1000))
        job = home.call("up", "-f", str(file), "-o", "name").strip()
        home.call("wait", job)
        events = [json.loads(line) for line in home.call("events", job, "-o", "json").splitlines()]
        tasks = json.loads(home.call("show", job, "--tasks", "--limit", "1000", "-o", "json"))["tasks"]
        types = [event["type"] for event in events]
        free = gaps(events)
        wrong = resumed_wrong(home, job, tasks)
        print(f"paused {types.count('trial.parked')}, promoted {types.count('trial.promoted')}, "
              f"went on elsewhere than where they were paused: {len(wrong)}")
        print(f"a place was free for {statistics.median(free)} ms (median), {sorted(free)[len(free) * 99 // 100]} ms "
              f"(99 of 100), {max(free)} ms (most), over {len(free)} ends")


if __name__ == "__main__":
    main()
