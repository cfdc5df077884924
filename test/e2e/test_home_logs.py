"""`runnel home logs`: how a home's daemon fares, told by lines that are there when it is not."""

import json
import os
import signal
import time


def lines_of(runnel, *flags):
    out = runnel.run("home", "logs", "-o", "json", *flags)
    return [json.loads(line) for line in out.splitlines()]


def test_a_life_of_a_daemon_is_told_from_its_start_to_its_end(runnel):
    runnel.run("run", "--", "true")
    runnel.until(lambda: any("nothing is left to do" in line["message"] for line in lines_of(runnel)))
    lines = lines_of(runnel)
    assert [line["message"] for line in lines] == [
        "the daemon serves its home",
        "the daemon ends: nothing is left to do",
    ]
    assert lines[0]["level"] == "info" and lines[0]["pid"] > 0 and lines[0]["took_ms"] >= 0
    # Reading them has started no daemon.
    time.sleep(0.2)
    assert len(lines_of(runnel)) == 2


def test_a_lost_runner_is_told_and_levels_choose(runnel):
    job = runnel.up("steps: {a: {run: sleep 600}}")
    runnel.until(lambda: runnel.info()["runner_pid"] > 0)
    runner = runnel.info()["runner_pid"]
    os.kill(runner, signal.SIGKILL)
    runnel.until(lambda: lines_of(runnel, "--level", "warning"))
    lines = lines_of(runnel, "--level", "warning")
    assert all(line["level"] != "info" for line in lines)
    assert any(line["part"] == "runner" and "the runner is not there" in line["message"] for line in lines)
    text = runnel.run("home", "logs", "--tail", "1")
    assert len(text.splitlines()) == 1
    runnel.run("cancel", job)


def test_a_home_that_is_not_there_is_named(runnel):
    runnel.run("--home", str(runnel.home / "absent"), "home", "logs", code=1)
    assert "there is no home" in runnel.err


def test_lines_are_the_owners_alone(runnel):
    runnel.run("run", "--", "true")
    runnel.until((runnel.home / "daemon.jsonl").exists)  # Written beside the work.
    assert (runnel.home / "daemon.jsonl").stat().st_mode & 0o077 == 0
