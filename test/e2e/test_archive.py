"""What left the state for the archive answers as it did when it had just ended."""

import json
import os
import threading

from conftest import Connection

LATER_JOBS = int(os.environ.get("RUNNEL_LATER_JOBS", "1200"))  # The state keeps 1,000 finished ones.
CLIENTS = 8

STUDY = """
name: parabola
params: {x: {uniform: [-5, 5]}, kind: [a, b]}
search: {metric: loss, mode: min, max_trials: 6}
"""

FLAKY = """
name: flaky
steps:
  good: {run: echo well done}
  bad: {run: test -e allowed, params: {n: {range: [1, 3]}}, depends_on: good}
"""


def run_trivial_jobs(home, count):
    """Submits so many jobs of one `true` each, by several clients at once; returns how many they were."""

    def submit(jobs):
        connection = Connection(home / "daemon.sock")
        for _ in range(jobs):
            body = "name: later\ncommand: [/bin/true]\nresources: {cpus: 0.1}\n"
            connection.request("POST", "/api/v1/jobs?workdir=/", body, {"Content-Type": "application/yaml"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 201, text
        connection.close()

    clients = [threading.Thread(target=submit, args=(count // CLIENTS,)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return count // CLIENTS * CLIENTS


def is_archived(runnel, job):
    return "job.archived" in runnel.run("events", job, "-o", "json")


def test_a_study_and_a_failed_job_answer_after_1200_later_jobs_as_before(runnel):
    study = runnel.json("study", "create", runnel.file(STUDY))["id"]
    for number in range(6):
        params = runnel.json("study", "ask", study)["params"]
        runnel.run("study", "report", study, number, "--at", 1, "--value", 30)
        runnel.run("study", "tell", study, number, "--value", (params["x"] - 1) ** 2)
    flaky = runnel.up(FLAKY)
    assert runnel.wait(flaky)["status"] == "FAILED"
    asked = [("study", "export", study, "-o", "json"), ("study", "export", study), ("study", "best", study),
             ("study", "show", study), ("study", "show", study, "-o", "json"), ("show", study, "-o", "json"),
             ("show", study, "--tasks", "-o", "json"), ("show", flaky, "--tasks", "-o", "json"), ("show", flaky, "-o", "json"),
             ("logs", flaky, "--step", "good"), ("metrics", flaky, "--step", "bad", "-o", "json"), ("explain", flaky, "-o", "json"),
             ("explain", flaky), ("show", flaky), ("show", flaky, "--spec"),
             ("study", "list", "-o", "json")]
    before = {words: runnel.run(*words) for words in asked}
    run_trivial_jobs(runnel.home, LATER_JOBS)
    runnel.until(lambda: is_archived(runnel, study) and is_archived(runnel, flaky), timeout=120)
    for words in asked:
        assert runnel.run(*words) == before[words], words

    new = runnel.json("study", "create", runnel.file(STUDY), "--from", study)["id"]
    assert "learns from 6 earlier trials" in runnel.err
    runnel.run("cancel", new)

    (runnel.work / "allowed").touch()
    runnel.run("retry", flaky)
    document = runnel.wait(flaky)
    assert document["status"] == "SUCCEEDED", document
    tasks = runnel.json("show", flaky, "--tasks")["tasks"]
    assert len(tasks) == 4 and all(task["status"] == "SUCCEEDED" for task in tasks), tasks
    assert json.loads(runnel.run("ps", "-a", "-o", "json"))["jobs"], "lists go on"
    assert "all to the same" in runnel.run("simulate", "--verify", runnel.home)
