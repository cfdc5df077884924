"""A rank that hangs, reports NaN or lags is named, and what the file says comes of it."""

import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from conftest import kill

ROOT = pathlib.Path(__file__).resolve().parents[2]
AFTER = 2  # Seconds of silence.
TALK = "while true; do echo tick; sleep 0.2; done"


def gang(script, health, **fields):
    step = {"num_nodes": 3, "resources": {"cpus": 0.1, "memory": "64MB"}, "grace": "1s", "run": script, "health": health}
    return json.dumps(step | fields)


def warnings(runnel, job):
    events = [json.loads(line) for line in runnel.run("events", job, "-o", "json").splitlines()]
    return [event for event in events if event["type"] == "task.warned"]


def attempts(runnel, job):
    return runnel.json("show", job, "--task", "0")["attempts"]


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def test_a_rank_that_hangs_is_named_in_time_and_the_gang_tried_again(runnel):
    script = f"echo begin\n[ $RUNNEL_ATTEMPT = 1 ] || exit 0\n[ $RANK != 1 ] || exec sleep 1000\n{TALK}"
    job = runnel.up(gang(script, {"hang": {"after": f"{AFTER}s", "action": "restart"}}, retry={"max": 1}))
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    warned, = warnings(runnel, job)
    assert (warned["rank"], warned["reason"], warned["action"]) == (1, "RankHung", "restart")
    first, second = attempts(runnel, job)
    assert (first["reason"], first["first_failed_rank"], first["status"]) == ("RankHung", 1, "FAILED")
    assert first["message"].startswith("rank 1 of 3 wrote no output and no metric for ")
    assert first["warnings"][0]["message"] == first["message"]
    assert second["status"] == "SUCCEEDED"
    # Its last sign of life came after its start.
    assert moment(warned["time"]) - moment(first["started_at"]) <= AFTER + 4  # Two of them for a busy machine.
    assert f"warning     {job_name(runnel, job)}/0#1: RankHung: rank 1 of 3" in runnel.run("show", job)


def job_name(runnel, job):
    return runnel.job(job)["steps"][0]["name"]


def test_a_nan_is_named_with_rank_and_step_and_ends_the_job(runnel):
    script = r"""
for i in 1 2 3; do echo "{\"step\": $i, \"loss\": 0.5, \"from_rank\": $RANK}" >> $RUNNEL_METRICS_FILE; done
[ $RANK != 2 ] || echo '{"step": 7, "loss": NaN, "from_rank": 2}' >> $RUNNEL_METRICS_FILE
exec sleep 1000
"""
    file = runnel.file(gang(script, {"nan": {"metric": "loss", "action": "kill"}}, retry={"max": 3}))
    runnel.run("run", file, code=143)
    told = "MetricNotFinite: rank 2 of 3 reported loss=nan at step 7"
    assert f"runnel: warning: job/0#1: {told}; it is ended" in runnel.err
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    attempt, = attempts(runnel, job)
    assert attempt["reason"] + ": " + attempt["message"] == told
    assert attempt["first_failed_rank"] == 2
    curves = runnel.json("metrics", job)
    assert "nan" not in json.dumps(curves).lower(), "the curve is rank 0's"


def test_a_nan_in_the_last_line_counts(runnel):
    script = """echo '{"step": 3, "loss": NaN}' >> $RUNNEL_METRICS_FILE"""
    job = runnel.up(json.dumps({"run": script, "health": {"nan": "kill"}}))
    assert runnel.wait(job)["status"] == "FAILED"
    assert attempts(runnel, job)[0]["message"] == "rank 0 of 1 reported loss=nan at step 3"


def test_the_guide_finds_its_slow_rank(runnel):
    text = (ROOT / "docs" / "guides" / "health.md").read_text()
    for name, content in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        runnel.file(content, name)
    command, = re.findall(r"^runnel (run .*)$", text, re.MULTILINE)
    runnel.run(*command.split(), env=dict(runnel.env, PYTHONPATH=str(ROOT / "python")))
    told = r"watched/0#1: RankSlow: rank 1 of 3 takes [\d.]+ m?s for a step, \d+\.\d times the median of the others \(\d+ ms\)"
    assert re.search("runnel: warning: " + told, runnel.err), runnel.err
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    document = runnel.job(job)
    assert document["status"] == "SUCCEEDED"
    assert re.search("warning     " + told, runnel.run("show", job))
    warned, = warnings(runnel, job)
    assert (warned["rank"], warned["reason"], warned["action"]) == (1, "RankSlow", "warn")
    assert re.search(r" task\.warned .*rank=1 ", runnel.run("events", job))
    samples = runnel.json("metrics", job)
    assert "0.7" not in [str(value)[:3] for value in numbers(samples, "step_seconds")], "rank 0's alone"


def numbers(document, name):
    if isinstance(document, dict):
        for key, value in document.items():
            yield from ([value] if key == name and not isinstance(value, (dict, list)) else numbers(value, name))
    elif isinstance(document, list):
        for value in document:
            yield from numbers(value, name)


def test_a_daemon_that_was_stopped_accuses_nobody(runnel):
    script = "echo a; : > $RUNNEL_JOB_DIR/begun$RANK; until [ -e $RUNNEL_JOB_DIR/go ]; do sleep 0.1; done; echo b"
    job = runnel.up(gang(script, {"hang": {"after": "6s", "action": "kill"}}))
    pid = runnel.info()["daemon_pid"]
    shared = runnel.home / "jobs" / job / "shared"
    # A job is RUNNING before its ranks are: one that begins when the daemon goes on is silent for real.
    runnel.until(lambda: len(list(shared.glob("begun*"))) == 3)
    kill(pid, signal.SIGSTOP)
    time.sleep(7)
    kill(pid, signal.SIGCONT)
    time.sleep(1.5)  # For a look at the time that has passed.
    (shared / "go").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert warnings(runnel, job) == []


def test_a_hung_rank_is_found_by_the_daemon_that_comes_after(runnel):
    script = f"[ $RANK != 1 ] || exec sleep 1000\n{TALK}"
    job = runnel.up(gang(script, {"hang": {"after": "3s", "action": "kill"}}))
    runnel.until(lambda: runnel.job(job)["status"] == "RUNNING")
    kill(runnel.info()["daemon_pid"])
    assert runnel.wait(job)["status"] == "FAILED"
    warned, = warnings(runnel, job)
    assert (warned["rank"], warned["reason"]) == (1, "RankHung")


def test_ranks_report_as_those_of_the_gang(tmp_path):
    code = "import runnel; print(runnel.report(step=1, loss=2))"
    file = tmp_path / "metrics.jsonl"

    def lines(**variables):
        file.unlink(missing_ok=True)
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "python"), "RUNNEL_METRICS_FILE": str(file)}
        done = subprocess.run([sys.executable, "-c", code], env=env | variables, capture_output=True, text=True, check=True)
        written = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        assert done.stdout == f"{bool(written)}\n"
        return [line.get("from_rank", 0) for line in written]

    every = {"RUNNEL_REPORT_RANKS": "all"}
    assert lines() == lines(RANK="0") == lines(RANK="0", **every) == [0]
    assert lines(RANK="2") == []
    assert lines(RANK="2", **every) == [2]
    # A process of torchrun: its rank is not one of the gang's.
    assert lines(RANK="5", PET_NODE_RANK="1", **every) == [1]
    assert lines(RANK="1", PET_NODE_RANK="0", **every) == []


def test_a_named_pipe_in_place_of_the_metrics_freezes_nobody(runnel):
    job = runnel.up(gang("mkfifo $RUNNEL_METRICS_FILE 2>/dev/null || true; sleep 3", {"nan": "kill"}))
    runnel.until(lambda: runnel.job(job)["status"] == "RUNNING")
    time.sleep(1.5)
    assert runnel.run("ps", timeout=5)
    assert runnel.wait(job)["status"] == "SUCCEEDED"
