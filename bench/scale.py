"""What a user waits for when there is much: tasks, a past, a submission; and the way to the first line."""

import os
import statistics
import subprocess
import time

from home import ROOT, RUNNEL, Home

MANY = 100_000
VERY_MANY = 1_000_000


def show(title, value, bar):
    print(f"{title:<52} {value:<28} bar: {bar}", flush=True)


def milliseconds(samples):
    return f"{statistics.median(samples) * 1e3:.1f} ms ({min(samples) * 1e3:.1f}-{max(samples) * 1e3:.1f})"


def timed(action, rounds):
    samples = []
    for _ in range(rounds):
        begin = time.monotonic()
        action()
        samples.append(time.monotonic() - begin)
    return samples


def first_byte(command, env):
    """Seconds from the spawn of a command to the first byte it prints."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as process:
        process.stdout.read(1)
        took = time.monotonic() - begin
        process.stdout.read()
    return took


def version():
    show("runnel --version", milliseconds(timed(lambda: subprocess.run([RUNNEL, "--version"], check=True,
         stdout=subprocess.DEVNULL), 50)), "< 10 ms")


def first_line(home):
    bare, ours = [], []
    for _ in range(20):
        bare.append(first_byte(["/bin/echo", "hello"], home.env))
        ours.append(first_byte([RUNNEL, "run", "--", "/bin/echo", "hello"], home.env))
    over = [a - b for a, b in zip(ours, bare, strict=True)]
    show("run -- echo: first line, over a bare spawn", milliseconds(over), "<= 20 ms")


def many_tasks(reference):
    """`reference`: the rate with fewer tasks, which this one should be near."""
    with Home() as home:
        rate = home.rate(MANY, "command: [/bin/true]")
        show(f"{MANY:,} tasks: rate, of that with few", f"{rate:.0f}/s, {rate / reference:.2f}", ">= 0.80")
        show(f"{MANY:,} tasks: most memory of the daemon", f"{home.daemon_megabytes():.0f} MB", "< 150 MB")


def listing():
    with Home() as home:
        name, _ = home.submit(MANY, "command: [/bin/sleep, 100]")
        show(f"ps, a job of {MANY:,} tasks in the queue", milliseconds(timed(lambda: home.call("ps"), 20)), "< 100 ms")
        home.call("cancel", name)


def submission():
    with Home() as home:
        samples = []
        for _ in range(5):
            name, took = home.submit(VERY_MANY, "command: [/bin/sleep, 100]")
            samples.append(took)
            home.call("cancel", name)
        show(f"up, {VERY_MANY:,} tasks: accepted and durable", milliseconds(samples), "< 50 ms")
        first_line(home)


def past():
    """Opens a home whose log holds a job of a million tasks, decided by the real brain, each durable."""
    bench = ROOT / "build/release/bin/control_bench"
    with Home() as home:
        home.stop()
        subprocess.run([bench, str(VERY_MANY), "sqlite", "64", str(home.path)], check=True, stdout=subprocess.DEVNULL)
        first = home.seconds("ps")
        again = []
        for _ in range(5):
            home.stop()
            again.append(home.seconds("ps"))
        show(f"a home with {VERY_MANY:,} past tasks: first ps", f"{first * 1e3:.0f} ms", "< 1,000 ms")
        show("the same after a regular stop", milliseconds(again), "< 1,000 ms")


def all_of(reference):
    os.sync()
    version()
    submission()
    listing()
    past()
    many_tasks(reference)
