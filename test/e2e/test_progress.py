"""A job says how far it is and how long it will take, and is right about it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from conftest import BINARY

TRAINING = """
resources: {cpus: 1}
run: |
  for i in $(seq 20); do
    sleep 0.4
    echo "{\\"step\\": $i, \\"loss\\": $((20 - i)), \\"progress\\": $(awk "BEGIN { print $i / 20 }")}" >> "$RUNNEL_METRICS_FILE"
  done
"""
SWEEP = """
params: {n: {range: [1, 40]}}
parallel: 2
resources: {cpus: 0.5}
run: sleep 0.4
"""


def looks(runnel, job):
    """What was told until the end: moment, share, seconds left."""
    told = []
    while True:
        document = runnel.json("show", job)
        if document["status"] == "SUCCEEDED":
            return told, time.monotonic()
        assert document["status"] in ("QUEUED", "RUNNING"), document
        told.append((time.monotonic(), document["progress"]["share"], document["progress"].get("eta_seconds")))
        time.sleep(0.1)


def check(told, end):
    shares = [share for _, share, _ in told]
    assert shares == sorted(shares) and shares[-1] > 0.6
    begun = told[0][0]
    for at, _, left in told:
        if at - begun > (end - begun) / 2:
            # How exact it is, control's own tests prove; here other tests take the machine meanwhile.
            assert left is not None and abs(left - (end - at)) <= max(0.5 * (end - at), 3), (left, end - at)


def test_a_training_tells_how_far_it_is(runnel):
    job = runnel.up(TRAINING)
    runnel.until(lambda: runnel.json("show", job)["progress"]["steps"][0]["live"])
    assert "step " in runnel.run("show", job) and "loss=" in runnel.run("show", job)
    check(*looks(runnel, job))


def test_a_sweep_tells_how_far_it_is(runnel):
    check(*looks(runnel, runnel.up(SWEEP)))


def on_a_terminal(runnel, *words):
    """What a terminal has got, each time that nothing more came for a moment, and at the end."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [BINARY, *words], stdin=slave, stdout=slave, stderr=slave, cwd=runnel.work, env=runnel.env
    )
    os.close(slave)
    moments, got = [], b""
    while True:
        if not select.select([master], [], [], 0.02)[0]:
            if not moments or moments[-1] != got:
                moments.append(got)
            continue
        try:
            got += os.read(master, 1 << 16)
        except OSError:
            break  # All that wrote there have gone.
    os.close(master)
    assert process.wait() == 0, got
    return moments, got


def test_the_progress_is_seen_below_output_that_flows(runnel):
    moments, got = on_a_terminal(runnel, "run", "--", "sh", "-c", "for i in $(seq 30); do echo line $i; sleep 0.1; done")
    flowing = [moment for moment in moments if 2 <= moment.count(b"line ") < 30]
    shown = [moment for moment in flowing if re.search(rb"0/1  1 running[^\n]*\r\n$", moment)]
    assert len(flowing) >= 10 and len(shown) >= 0.9 * len(flowing), (len(shown), len(flowing))
    assert re.findall(rb"line (\d+)\r\n", got) == [str(i).encode() for i in range(1, 31)]


def test_much_output_draws_the_progress_once_a_write(runnel):
    _, got = on_a_terminal(runnel, "run", "--", "seq", "200000")
    assert b"\r\n200000\r\n" in got and 0 < got.count(b"\x1b[2K") < 10_000
