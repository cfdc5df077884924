"""Population-based training with real training: members go on from the checkpoints of better ones, whatever dies."""

import pathlib
import re
import shutil
import time

from conftest import kill

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
BEGUN = re.compile(r"goes on after epoch (\d+) with a learning rate of (\S+)")


def begun(runnel, job, trial):
    """Per attempt of a member: after which epoch it went on, and with which learning rate."""
    lines = runnel.run("logs", job, "--task", str(trial["trial"]))
    return [(int(epoch), float(rate)) for epoch, rate in BEGUN.findall(lines)]


def check(runnel, job):
    trials = runnel.json("study", "show", job)["trials"]
    assert len(trials) == 6
    tasks = runnel.json("show", job, "--tasks")["tasks"]
    pruned = {trial["trial"] for trial in trials if trial["status"] != "SUCCEEDED"}
    nothing_left = {task.get("index", 0) for task in tasks if task.get("reason") == "NothingLeft"}
    assert pruned == nothing_left, "only who went on from a member that had nothing left to train is without a value"
    moved = [trial for trial in trials if trial.get("moves")]
    assert moved, "nobody was among the worst"
    for trial in moved:
        attempts = begun(runnel, job, trial)
        epoch, rate = attempts[-1]
        assert rate == float(f"{trial['params']['lr']:.6g}"), "it goes on with the parameters that the study names"
        assert epoch >= 2, "it goes on from what its donor has saved"
        assert len({rate for _, rate in attempts}) > 1
    return trials


def test_the_worst_go_on_from_the_best(runnel):
    runnel.use_python_of_the_project()
    job = runnel.json("up", "-f", EXAMPLES / "population.yaml")["id"]
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("logs", job)
    trials = check(runnel, job)
    errors = sorted(trial["values"]["error"] for trial in trials if trial["status"] == "SUCCEEDED")
    assert errors[0] < 0.25
    assert "WENT ON FROM" in runnel.run("study", "show", job)
    moves = [line for line in runnel.run("events", job, "-o", "json").splitlines() if '"type":"trial.moved"' in line]
    assert len(moves) == sum(len(trial.get("moves", [])) for trial in trials)


def with_slow_epochs(folder):
    """The example's file, its epochs at least 0.3 s: members that train on while the daemon is dead have reports left
    that it can act upon."""
    shutil.copytree(EXAMPLES / "population", folder / "population")
    train = folder / "population/train.py"
    train.write_text(train.read_text().replace("        save(path,", "        __import__('time').sleep(0.3)\n        save(path,"))
    assert "sleep" in train.read_text()
    return shutil.copy(EXAMPLES / "population.yaml", folder)


def test_a_population_survives_the_death_of_the_daemon(runnel):
    runnel.use_python_of_the_project()
    job = runnel.json("up", "-f", with_slow_epochs(runnel.work))["id"]
    for _ in range(6):
        time.sleep(1.5)
        kill(runnel.info()["daemon_pid"])
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("logs", job)
    check(runnel, job)
