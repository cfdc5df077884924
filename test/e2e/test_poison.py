"""A task that kills its runner fails for that, and what runs beside it gets through.

RUNNEL_POISON sets how many innocent tasks run beside it, of 3 s each (6 of 1 s here, 20 in `make soak`).
"""

import json
import os

import pytest

pytestmark = pytest.mark.long

INNOCENT = int(os.environ.get("RUNNEL_POISON", "6"))
SECONDS = 1 if INNOCENT <= 6 else 3

INNOCENTS = f"""
name: innocent
params: {{n: {{range: [1, {INNOCENT}]}}}}
resources: {{cpus: 1}}
run: sleep {SECONDS}; echo {{{{n}}}} >> $RUNNEL_JOB_DIR/done
"""

POISON = """
name: poison
resources: {cpus: 1}
run: kill -9 $PPID; sleep 10
"""


def attempts_ended(runnel, job):
    lines = runnel.run("events", job, "-o", "json").splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == "attempt.ended"]


def test_a_task_that_kills_its_runner_fails_and_no_other(runnel):
    poison = runnel.up(POISON)
    innocent = runnel.up(INNOCENTS)
    assert runnel.wait(innocent)["status"] == "SUCCEEDED"
    assert runnel.wait(poison)["status"] == "FAILED"
    done = (runnel.home / "jobs" / innocent / "shared/done").read_text().split()
    assert set(done) == {str(n + 1) for n in range(INNOCENT)}, "a lost attempt may have written too"
    losses = {}
    for event in attempts_ended(runnel, innocent):
        assert event["to"] in ("SUCCEEDED", "NODE_FAIL") or event["reason"] == "Rebalanced", event
        if event["to"] == "NODE_FAIL":
            losses[event["attempt"].get("task", 0)] = losses.get(event["attempt"].get("task", 0), 0) + 1
    processors = os.cpu_count()
    assert all(count <= 2 + processors.bit_length() for count in losses.values()), losses
    last = attempts_ended(runnel, poison)[-1]
    assert last["reason"] == "RunnerLost", last
    assert last["message"] == ("the node's runner was killed 5 times in a row while only this task ran "
                               "on its node")


TWO_NODES = """
nodes:
- {name: a, cpus: 1, memory: 1GB}
- {name: b, cpus: 1, memory: 1GB}
"""


def test_what_runs_on_another_node_of_the_runner_is_innocent(runnel):
    runnel.home.mkdir(mode=0o700)
    (runnel.home / "nodes.yaml").write_text(TWO_NODES)
    innocent = runnel.up("name: innocent\nresources: {cpus: 1}\nrun: sleep 10")
    poison = runnel.up("name: poison\nresources: {cpus: 1}\nrun: sleep 1; kill -9 $PPID; sleep 10")
    assert runnel.wait(poison)["status"] == "FAILED"
    assert attempts_ended(runnel, poison)[-1]["reason"] == "RunnerLost"
    assert runnel.wait(innocent)["status"] == "SUCCEEDED"
