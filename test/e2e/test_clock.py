"""The wall clock jumps by days while searches run: what is decided goes by the clock since boot."""

import json
import os
import pathlib
import subprocess
import time

import pytest
from conftest import kill

LIBRARY = pathlib.Path(os.environ.get("RUNNEL_LIBFAKETIME", "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"))
HOUR = 3_600

# Trials of a second that report, are judged, parked and resumed, and may take a minute.
LADDER = """
name: ladder
params: {level: {range: [1, 40]}}
search: {metric: loss, mode: min, max_trials: 12, method: random, pruner: {method: asha, eta: 2, max_step: 8}, parallel: 2,
         max_duration: 30m}
checkpoint: {dir: ckpt}
max_duration: 1m
retry: {max: 0}
resources: {cpus: 0.5}
run: |
  at=$(cat "$RUNNEL_CHECKPOINT_DIR/at" 2>/dev/null || echo 0)
  while [ "$at" -lt 8 ]; do
    at=$((at + 1))
    echo "$at" > "$RUNNEL_CHECKPOINT_DIR/at.part" && mv "$RUNNEL_CHECKPOINT_DIR/at.part" "$RUNNEL_CHECKPOINT_DIR/at"
    echo "{\\"step\\": $at, \\"loss\\": $(( {{level}} * 10 - at ))}" >> "$RUNNEL_METRICS_FILE"
    sleep 0.1
  done
"""

# libfaketime takes each absolute timer for one of the wall clock. Asio arms one that is due at once as 1 ns since
# boot, which a clock that went back by days then moves days ahead: no timer of the daemon's would fire any more.
TRUE_TIMERS = """
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
int timerfd_settime(int timer, int flags, const struct itimerspec* value, struct itimerspec* old) {
  return syscall(SYS_timerfd_settime, timer, flags, value, old);
}
"""

STUDY = """
name: asked
params: {x: {uniform: [-5, 5]}}
search: {metric: loss, mode: min, max_trials: 3}
"""


@pytest.fixture(scope="module")
def true_timers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("timers")
    (folder / "timers.c").write_text(TRUE_TIMERS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "timers.so", folder / "timers.c"], check=True)
    return folder / "timers.so"


@pytest.fixture
def jump(runnel, true_timers):
    """Sets the clock of all that this home starts to so many hours from now; its clock since boot goes on."""
    stamp = runnel.work / "clock"

    def to(hours):
        (runnel.work / "clock.part").write_text(f"{hours * HOUR:+d}")
        (runnel.work / "clock.part").rename(stamp)

    to(0)
    runnel.env |= {"LD_PRELOAD": f"{true_timers} {LIBRARY}", "FAKETIME_TIMESTAMP_FILE": str(stamp), "FAKETIME_NO_CACHE": "1",
                   "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return to


def types_of(runnel, job):
    return [json.loads(line)["type"] for line in runnel.run("events", job, "-o", "json").splitlines()]


def test_the_clock_that_jumps_is_the_homes(runnel, jump):
    jump(-48)
    runnel.run("run", "--", "true")
    job = runnel.json("ps", "-a")["jobs"][0]
    assert job["submitted_at"] < time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 47 * HOUR)), job


@pytest.mark.parametrize("killed", [False, True])
def test_a_search_loses_nothing_while_the_clock_jumps(runnel, jump, killed):
    job = runnel.up(LADDER)
    for hours in (48, -120, 24 * 365, 0):
        runnel.until(lambda: runnel.job(job)["status"] in ("RUNNING", "SUCCEEDED"))
        time.sleep(0.5)
        jump(hours)
        if killed:
            kill(runnel.info()["daemon_pid"])
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED", document
    search = document["steps"][0]["search"]
    assert search["asked"] == 12, "its max_duration has not passed"
    types = types_of(runnel, job)
    assert types.count("trial.asked") == 12
    tasks = runnel.json("show", job, "--tasks")["tasks"]
    assert all(task["status"] in ("SUCCEEDED", "PRUNED") for task in tasks), tasks
    best = min((task["report"]["values"]["loss"] for task in tasks), default=None)
    assert search["best"]["values"]["loss"] == best
    assert document["submitted_at"] <= document["started_at"] <= document["ended_at"]
    assert "all to the same" in runnel.run("simulate", "--verify", runnel.home)


def test_a_trial_keeps_its_lease_while_the_clock_jumps(runnel, jump):
    study = runnel.json("study", "create", runnel.file(STUDY))["id"]
    trials = []
    for hours in (24 * 365, -120, 0):
        trials.append(runnel.json("study", "ask", study, "--lease", "20s"))
        jump(hours)
        runnel.run("study", "report", study, trials[-1]["trial"], "--at", 1, "--value", 9)
    jump(-48)
    for trial in trials:
        assert trial["attempt"] == 1
        assert "SUCCEEDED" in runnel.run("study", "tell", study, trial["trial"], "--value", trial["trial"] + 0.5)
    assert [trial["trial"] for trial in trials] == [0, 1, 2]
    assert runnel.run("study", "best", study).startswith("trial 0: loss=0.5")
    assert runnel.job(study)["status"] == "SUCCEEDED"


def test_a_home_that_saw_a_clock_before_1970_goes_on(runnel, jump):
    jump(-24 * 365 * 70)
    runnel.run("run", "--", "true")
    job = runnel.up("run: sleep 1")
    kill(runnel.info()["daemon_pid"])
    jump(0)
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert "all to the same" in runnel.run("simulate", "--verify", runnel.home)
