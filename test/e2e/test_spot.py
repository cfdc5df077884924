"""Nodes that are taken away with a notice: what runs there saves, ends and goes on, and nothing is charged."""

import collections
import os
import pathlib
import re
import time

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
NODES = """nodes:
  - {name: steady, cpus: 1, memory: 4GB, price: 0.1}
  - {name: spot-1, cpus: 1, memory: 4GB, price: 0.1, spot_price: 0.03, spot: true, pool: spot}
  - {name: spot-2, cpus: 1, memory: 4GB, price: 0.1, spot_price: 0.03, spot: true, pool: spot}
"""


def with_spot_nodes(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(NODES)


def attempts(runnel, job):
    return runnel.json("show", job, "--task", "0")["attempts"]


def test_a_notice_is_heard_and_costs_no_retry(runnel):
    with_spot_nodes(runnel)
    job = runnel.up("""
resources: {spot: true, cpus: 1}
run: |
  echo attempt $RUNNEL_ATTEMPT
  [ ! -e "$RUNNEL_PREEMPT_FILE" ]
  if [ "$RUNNEL_ATTEMPT" = 1 ]; then
    trap 'echo told; cat "$RUNNEL_PREEMPT_FILE"; exit 7' TERM
    while :; do sleep 0.02; done
  fi
""")
    runnel.until(lambda: "attempt 1" in runnel.run("logs", job))
    runnel.run("preempt", "spot-1", "--notice", "20s", "--away", "1s")
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED", "an exit with 7 and without retries would have failed"
    log = runnel.run("logs", job)
    assert re.search(r"attempt 1\ntold\n20\d\d-\d\d-\d\dT[0-9:.]+Z\nattempt 2\n", log), log
    assert [attempt["status"] for attempt in attempts(runnel, job)] == ["PREEMPTED", "SUCCEEDED"]


def test_a_node_comes_back(runnel):
    with_spot_nodes(runnel)
    runnel.run("preempt", "spot-1", "--notice", "300ms", "--away", "500ms")
    states = runnel.run("nodes")
    assert re.search(r"spot-1 +spot +leaving at .* \(Preempted\)", states), states
    runnel.until(lambda: re.search(r"spot-1 +spot +down \(Preempted\)", runnel.run("nodes")))
    runnel.until(lambda: re.search("spot-1 +spot +up", runnel.run("nodes")))
    runnel.run("preempt", "spot-1", "--notice", "100ms", "--away", "6s")
    assert "and back 6s later, or with the daemon's next start" in runnel.err
    time.sleep(3)  # A daemon that nobody asks and that has nothing to do ends after two seconds.
    assert re.search(r"spot-1 +spot +down \(Preempted\)", runnel.run("nodes"))
    runnel.run("preempt", "nobody", code=1)
    assert "the node 'nobody' is not here" in runnel.err
    runnel.run("preempt", "spot-1", "--notice", "12", code=2)
    assert "notice" in runnel.err


def test_who_ignores_the_notice_is_ended_with_it(runnel):
    with_spot_nodes(runnel)
    job = runnel.up("""
resources: {spot: true, cpus: 1}
run: |
  trap '' TERM
  echo attempt $RUNNEL_ATTEMPT
  if [ "$RUNNEL_ATTEMPT" = 1 ]; then while :; do sleep 0.05; done; fi
""")
    runnel.until(lambda: "attempt 1" in runnel.run("logs", job))
    runnel.run("preempt", "spot-1", "--notice", "1s", "--away", "1s")
    assert runnel.wait(job)["status"] == "SUCCEEDED"


@pytest.mark.long
def test_training_on_spot_equals_the_unbroken_run(runnel):
    with_spot_nodes(runnel)
    runnel.use_python_of_the_project()
    alone = runnel.json("up", "-f", EXAMPLES / "spot.yaml", "--name", "alone")["id"]
    runnel.wait(alone)
    job = runnel.json("up", "-f", EXAMPLES / "spot.yaml")["id"]
    for lives, (saved, notice) in enumerate(((40, "0s"), (120, "2s"), (200, "0s")), start=1):
        runnel.until(lambda: f"saved step {saved}" in (log := runnel.run("logs", job)) and log.count("begins at step") == lives,
                     timeout=60)
        used = {each["id"] for each in runnel.json("nodes")["nodes"] if each["lanes"]}
        runnel.run("preempt", used.pop(), "--notice", notice, "--away", "1s")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    log = runnel.run("logs", job)
    told = [int(step) for step in re.findall(r"told to go after step (\d+)", log)]
    begun = [int(step) for step in re.findall(r"begins at step (\d+)", log)]
    # A process that is killed at once may be quick enough to hear of it.
    assert len(begun) == 4 and begun[2] in told and set(told) <= set(begun), "no step is lost after a notice"
    assert begun[1] >= 40 and begun[3] >= 200, "without one, what came after the last save"
    loss = re.search(r"final loss (\S+)", log)[1]
    assert loss == re.search(r"final loss (\S+)", runnel.run("logs", alone))[1]
    cost = runnel.json("show", job)["cost"]
    assert 0 < cost["spent"] < 0.31 * cost["list"], "spot nodes were preferred"
    assert re.search(r"spot saved \$\S+ \(70 %\)", runnel.run("show", job))


FITS = int(os.environ.get("RUNNEL_FITS", "256"))  # A square: 4096 is the full-size run.


def test_a_large_search_under_preemption_tries_every_combination_once(runnel):
    with_spot_nodes(runnel)
    side = round(FITS ** 0.25)
    job = runnel.up(f"""
params: {{a: {{range: [1, {side}]}}, b: {{range: [1, {side}]}}, c: {{range: [1, {side}]}}, d: {{range: [1, {side}]}}}}
search: {{metric: loss, mode: min, method: grid, max_trials: {side ** 4}}}
resources: {{spot: true, cpus: 0.25}}
run: |
  echo {{{{a}}}} {{{{b}}}} {{{{c}}}} {{{{d}}}} >> "$RUNNEL_JOB_DIR/$RUNNEL_TASK_INDEX.fit"
  echo "{{\\"loss\\": $(( ({{{{a}}}} - 2) * ({{{{a}}}} - 2) + ({{{{b}}}} - 3) * ({{{{b}}}} - 3) + {{{{c}}}} + {{{{d}}}} ))}}" >> "$RUNNEL_METRICS_FILE"
""")
    taken = 0
    while runnel.job(job)["status"] not in ("SUCCEEDED", "FAILED"):
        runnel.run("preempt", f"spot-{taken % 2 + 1}", "--notice", "20ms", "--away", "100ms", code=None)
        taken += 1
        time.sleep(0.5)
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED" and taken > 0
    assert document["counts"] == {"SUCCEEDED": side ** 4}, runnel.run("show", "--tasks", job, "--limit", "1000")
    shared = pathlib.Path(runnel.home / "jobs" / job / "shared")
    fits = [tuple(path.read_text().split("\n")[0].split()) for path in shared.glob("*.fit")]
    assert len(set(fits)) == len(fits) == side ** 4
    trials = runnel.json("study", "export", job)["trials"]
    assert collections.Counter(trial["status"] for trial in trials) == {"SUCCEEDED": side ** 4}
    # Trials that were taken away ran again, and no others.
    again = {trial["trial"] for trial in trials if trial["attempt"] > 1}
    twice = {int(path.stem) for path in shared.glob("*.fit") if path.read_text().count("\n") > 1}
    assert twice <= again
    best = runnel.json("study", "best", job)
    assert best["params"] == {"a": 2, "b": 3, "c": 1, "d": 1} and best["values"]["loss"] == 2
