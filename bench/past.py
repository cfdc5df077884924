"""What commands cost in a home with a long past.

usage: bench/past.py [JOBS]

Makes a study, a job that fails, and JOBS (100,000) jobs of one `true` each, by eight clients over HTTP; all but the
newest 1,000 are in the archive then. Prints for each command the median and the range of 9 runs, its process included,
and the start of a daemon.
"""

import json
import os
import pathlib
import signal
import statistics
import sys
import time

from home import ROOT, Home

sys.path.insert(0, str(ROOT / "test/e2e"))

import test_archive  # noqa: E402  The clients are the test's.

BAR_MS = 100
ROUNDS = 9


def show(title, samples):
    middle = statistics.median(samples) * 1e3
    mark = "" if middle < BAR_MS else "  over the bar"
    print(f"| {title:<34} | {middle:7.1f} ms | {min(samples) * 1e3:.1f}-{max(samples) * 1e3:.1f} |{mark}", flush=True)


def rounds_of(action):
    samples = []
    for _ in range(ROUNDS):
        begin = time.monotonic()
        action()
        samples.append(time.monotonic() - begin)
    return samples


def study_of(home):
    file = home.folder / "study.yaml"
    file.write_text(test_archive.STUDY)
    study = json.loads(home.call("study", "create", str(file), "-o", "json"))["id"]
    for number in range(6):
        home.call("study", "ask", study)
        home.call("study", "tell", study, str(number), "--value", str(number))
    return study


def failed_job(home):
    file = home.folder / "failing.yaml"
    file.write_text("name: failing\nrun: exit 3\n")
    job = home.call("up", "-f", str(file), "-o", "name").strip()
    while json.loads(home.call("show", job, "-o", "json"))["status"] != "FAILED":
        time.sleep(0.1)
    return job


def kill_daemon(home):
    pid = home.pids()[0]
    os.kill(pid, signal.SIGKILL)
    while pathlib.Path(f"/proc/{pid}").exists():
        time.sleep(0.001)


def starts_of(home):
    samples = []
    for _ in range(ROUNDS):
        kill_daemon(home)
        samples.append(home.seconds("ps"))
    return samples


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with Home() as home:
        study, failed = study_of(home), failed_job(home)
        begin = time.monotonic()
        test_archive.run_trivial_jobs(home.path, jobs)
        while json.loads(home.call("ps", "-o", "json"))["jobs"]:
            time.sleep(0.5)
        print(f"{jobs} jobs in {time.monotonic() - begin:.0f} s; log {sum(f.stat().st_size for f in home.path.glob('log*')) / 1e6:.0f} MB\n")
        newest = json.loads(home.call("ps", "-a", "--limit", "1", "-o", "json"))["jobs"][0]["id"]
        tiny = home.folder / "tiny.yaml"
        tiny.write_text("command: [/bin/true]\n")
        commands = {
            "ps": ["ps"],
            "ps -a": ["ps", "-a"],
            "ps -a, 1,000 rows": ["ps", "-a", "--limit", "1000"],
            "show of the newest": ["show", newest],
            "show of the oldest": ["show", study],
            "show --tasks of an archived job": ["show", failed, "--tasks"],
            "show by prefix": ["show", failed[:10]],
            "logs of the newest": ["logs", newest],
            "logs of an archived job": ["logs", failed],
            "metrics of an archived job": ["metrics", failed],
            "explain of an archived job": ["explain", failed],
            "events of an archived job, 5": ["events", failed, "--limit", "5"],
            "events, first 5": ["events", "--limit", "5"],
            "study list": ["study", "list"],
            "study show": ["study", "show", study],
            "study export": ["study", "export", study, "-o", "json"],
            "nodes": ["nodes"],
            "up": ["up", "-f", str(tiny)],
        }
        print("| command | median | range |\n|---|---|---|")
        for title, words in commands.items():
            try:
                show(title, rounds_of(lambda words=words: home.call(*words)))
            except Exception as error:  # noqa: BLE001  One refusal must not hide the others.
                print(f"| {title} | refused: {getattr(error, 'stderr', error)} |")
        show("retry of an archived job (once)", [home.seconds("retry", failed)])
        show("start of a killed daemon, with ps", starts_of(home))
        print(f"\ndaemon {home.daemon_megabytes():.0f} MB at most")


if __name__ == "__main__":
    main()
