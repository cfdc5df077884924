"""Searches whose trials somebody else runs: askers that crash, repeat themselves, and share one study."""

import csv
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from conftest import BINARY, kill

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRIALS = int(os.environ.get("RUNNEL_TRIALS", "120"))
ASKERS = 4

STUDY = """
name: parabola
params: {x: {uniform: [-5, 5]}, y: {uniform: [-5, 5]}, kind: [a, b]}
search: {metric: loss, mode: min, max_trials: %d}
"""

# Asks, and one time in ten dies before it tells; its parent starts the next.
ASKER = """
import os, random, sys, time
import runnel
study = runnel.load_study(sys.argv[1])
dice = random.Random(int(sys.argv[2]))
while not study.finished:
    trial = study.ask(lease="2s")
    if trial is None:
        time.sleep(0.1)
        continue
    print("asked", trial.number, trial.attempt, trial.params["x"], flush=True)
    if dice.random() < 0.1:
        os._exit(9)
    answer = study.tell(trial, {"loss": trial.params["x"] ** 2 + trial.params["y"] ** 2})
    print("told", trial.number, trial.attempt, answer["status"], flush=True)
"""


@pytest.fixture
def python(runnel):
    """Runs Python source with the home of the test."""
    def start(source, *words):
        env = {**runnel.env, "PYTHONPATH": str(ROOT / "python"), "PATH": f"{BINARY.parent}:{runnel.env['PATH']}"}
        return subprocess.Popen([sys.executable, "-c", source, *map(str, words)], env=env, cwd=runnel.work,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return start


def create(runnel, trials):
    return runnel.json("study", "create", runnel.file(STUDY % trials))["id"]


def asked_and_told(lines):
    asked = [tuple(line.split()[1:]) for line in lines if line.startswith("asked")]
    told = [tuple(line.split()[1:]) for line in lines if line.startswith("told")]
    return asked, told


def test_four_askers_that_crash_lose_no_trial_and_tell_none_twice(runnel, python):
    study = create(runnel, TRIALS)
    lines, crashes = [], []

    def ask_until_done(number):
        life = 0
        while True:
            life += 1
            process = python(ASKER, study, number * 1000 + life)
            out, err = process.communicate(timeout=300)
            lines.extend(out.splitlines())
            if process.returncode == 0:
                return
            assert process.returncode == 9, err
            crashes.append(number)

    threads = [threading.Thread(target=ask_until_done, args=(number,)) for number in range(ASKERS)]
    for thread in threads:
        thread.start()
    # The daemon dies in the middle of it, too.
    for _ in range(3):
        time.sleep(0.5)
        kill(runnel.info()["daemon_pid"])
    for thread in threads:
        thread.join()

    asked, told = asked_and_told(lines)
    assert crashes, "nobody crashed, so nothing was shown"
    assert len(told) == TRIALS and len({number for number, *_ in told}) == TRIALS
    assert all(status == "SUCCEEDED" for *_, status in told)
    # A trial that was lost is tried again with what it had.
    params = {}
    for number, attempt, x in asked:
        assert params.setdefault(number, x) == x
    assert any(int(attempt) > 1 for _, attempt, _ in told)
    trials = runnel.json("study", "show", study)["trials"]
    assert [trial["trial"] for trial in trials] == list(range(TRIALS))
    best = min(trials, key=lambda trial: trial["values"]["loss"])
    shown = runnel.json("study", "best", study)
    assert (shown["trial"], shown["params"]) == (best["trial"], best["params"]), "numbers are numbers"
    assert runnel.job(study)["status"] == "SUCCEEDED"


def test_a_shell_can_drive_a_search(runnel):
    study = create(runnel, 3)
    for number in range(3):
        trial = runnel.json("study", "ask", study)
        assert trial["trial"] == number and set(trial["params"]) == {"x", "y", "kind"}
        runnel.run("study", "report", study, number, "--at", 1, "--value", 9)
        assert "SUCCEEDED" in runnel.run("study", "tell", study, number, "--at", 2, "--value", number + 0.5)
        assert "SUCCEEDED" in runnel.run("study", "tell", study, number, "--at", 2, "--value", number + 0.5)
        runnel.run("study", "tell", study, number, "--value", 7, code=1)
        assert "is already finished: SUCCEEDED" in runnel.err
    assert "the search has ended" in runnel.run("study", "ask", study)
    assert runnel.run("study", "best", study).startswith("trial 0: loss=0.5")
    rows = list(csv.DictReader(io.StringIO(runnel.run("study", "export", study))))
    assert [row["value_loss"] for row in rows] == ["0.5", "1.5", "2.5"]
    assert [row["status"] for row in rows] == ["SUCCEEDED"] * 3
    assert [(row["attempts"], row["step"]) for row in rows] == [("1", "2")] * 3
    assert "parabola" in runnel.run("study", "list")


def test_an_export_has_its_columns_whatever_came_of_the_trials(runnel):
    columns = ["trial", "status", "attempts", "step", "value_loss", "param_kind", "param_x", "param_y"]
    study = create(runnel, 1)
    assert runnel.run("study", "export", study).splitlines() == [",".join(columns)]
    runnel.json("study", "ask", study)
    runnel.run("study", "tell", study, 0, "--state", "failed")
    header, row = (line.split("\t") for line in runnel.run("study", "export", study, "-o", "tsv").splitlines())
    assert header == columns
    assert row[:5] == ["0", "FAILED", "1", "", ""] and all(row[5:])
    exported = runnel.json("study", "export", study)
    assert exported["parameters"] == ["x", "y", "kind"]
    assert exported["objectives"] == [{"metric": "loss", "mode": "min"}]


def test_the_best_so_far_is_named_while_no_trial_has_ended(runnel):
    pruned = (STUDY % 3).replace("max_trials: 3", "max_trials: 3, pruner: {method: asha, eta: 2, max_step: 8}")
    study = runnel.json("study", "create", runnel.file(pruned))["id"]
    for _ in range(2):
        runnel.run("study", "ask", study)
    runnel.run("study", "best", study, code=1)
    for number, value in enumerate((7, 5)):
        runnel.run("study", "report", study, number, "--at", 4, "--value", value)
    leader = "loss=5 (trial 1, step 4, running)"
    assert runnel.run("study", "best", study).startswith(f"best so far {leader}\n")
    assert runnel.json("study", "best", study)["best_so_far"]["trial"] == 1
    assert f"so far: {leader} with " in runnel.run("show", study)
    runnel.run("study", "tell", study, 0, "--value", 9)
    assert runnel.run("study", "best", study).startswith("trial 0: loss=9")
    assert "so far" not in runnel.run("show", study)
    runnel.run("cancel", study)


def test_a_better_value_that_was_pruned_is_named(runnel):
    """Two trials: the whole one ends at 1, the pruned one was at 5, but behind the other at the same step."""
    def play(pruner):
        text = (STUDY % 2).replace("mode: min, max_trials: 2", f"mode: max, max_trials: 2, pruner: {pruner}")
        process = runnel.start("run", runnel.file(text))
        study = re.match(r"job (\w+) ", process.stderr.readline()).group(1)
        for number in range(2):
            assert runnel.json("study", "ask", study)["trial"] == number
        runnel.run("study", "report", study, 0, "--at", 1, "--value", 10)
        runnel.run("study", "tell", study, 0, "--at", 2, "--value", 1)
        assert runnel.json("study", "report", study, 1, "--at", 1, "--value", 5)["stop"]
        _, err = process.communicate(timeout=30)
        return study, err

    told = "trial 1 was PRUNED with loss=5 at step 1, better than the best whole trial"
    remedy = "; set `max_step` in `pruner` so that trials which have reported their last step count as whole"
    study, err = play("{method: asha, eta: 2}")
    assert f"\n{told}{remedy}\n" in err
    shown = runnel.run("study", "show", study)
    assert shown.endswith(f"\nimportance: too few trials\n{told}{remedy}\n")
    assert "note" not in runnel.json("study", "show", study) and runnel.json("study", "show", study)["importance"] == []
    assert "PRUNED with" not in runnel.run("study", "show", study, "-o", "tsv")
    study, err = play("{method: asha, eta: 2, max_step: 8}")
    assert f"\n{told}\n" in err and f"\n{told}\n" in runnel.run("study", "show", study)


def test_what_is_said_wrongly_is_refused_and_loses_nothing(runnel):
    study = create(runnel, 2)
    runnel.json("study", "ask", study)
    for words, said in [(("tell", study, 0), "value"),
                        (("tell", study, 0, "--value", 1, "--value", 2), "2 value(s)"),
                        (("tell", study, 1, "--value", 1), "was not given"),
                        (("tell", study, 0, "--value", 1, "--state", "done"), "complete, pruned or failed"),
                        (("tell", study, 0, "--value", 1, "--attempt", 7), "attempt 7"),
                        (("tell", study, 0, "--value", "0,5"), "is not a number"),
                        (("ask", study, "--lease", "1ms"), "lease"),
                        (("ask", study, "--lease", "soon"), "lease"),
                        (("ask", study, "--step", "train"), "no step 'train'")]:
        assert runnel.run("study", *words, code=None) == ""
        assert said in runnel.err, runnel.err
    assert "RUNNING" in runnel.run("study", "show", study)
    runnel.run("study", "tell", study, 0, "--value", "nan")
    assert runnel.json("study", "show", study)["trials"][0]["status"] == "FAILED"
    runnel.run("cancel", study)
    assert runnel.job(study)["status"] == "CANCELLED"


def test_trials_that_a_node_runs_are_not_given_away(runnel):
    job = runnel.up("name: a\nparams: {x: {uniform: [0, 1]}}\n"
                    "search: {metric: loss, mode: min, max_trials: 1}\nrun: sleep 30")
    runnel.run("study", "ask", job, code=1)
    assert "only a search without `run`" in runnel.err
    runnel.run("cancel", job)


OPTUNA_SHAPED = """
import runnel
def objective(trial):
    x = trial.suggest_float("x", -5, 5)
    for step in range(1, 10):
        trial.report({"loss": x * x + 1 / step}, step)
        if trial.should_prune():
            raise runnel.TrialPruned()
    if trial.number == 2:
        raise ArithmeticError("on purpose")
    return x * x
study = runnel.create_study({"x": {"uniform": [-5, 5]}, "kind": ["a", "b"]}, n_trials=16, metric="loss", seed=5,
                            pruner={"method": "asha", "eta": 2, "max_step": 9})
study.optimize(objective, catch=(ArithmeticError,))
states = [trial["status"] for trial in study.trials]
assert states[2] in ("FAILED", "PRUNED"), states
assert "PRUNED" in states and "SUCCEEDED" in states, states
assert study.best_value == min(t["values"]["loss"] for t in study.trials if t["status"] == "SUCCEEDED")
assert set(study.best_params) == {"x", "kind"}
assert study.best_trial["params"] == study.best_params and isinstance(study.best_params["x"], float)
second = runnel.create_study({"x": {"uniform": [-5, 5]}, "kind": ["a", "b"]}, n_trials=12, metric="loss",
                             earlier=study, method="tpe")
second.optimize(lambda trial: trial.params["x"] ** 2)
shares = second.importances
assert shares["x"] > shares["kind"] >= 0, shares
assert second.best_value <= study.best_value * 4 + 0.1, (second.best_value, study.best_value)
try:
    runnel.create_study({"x": {"unifrm": [0, 1]}}, n_trials=2)
except runnel.ServiceError as error:
    assert "unifrm" in str(error)
else:
    raise AssertionError("a wrong space was taken")
"""


def test_a_function_is_optimized_as_with_optuna(runnel, python):
    process = python(OPTUNA_SHAPED)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert [each["max_trials"] for each in runnel.json("study", "list")["studies"]] == [12, 16]


LONG_AND_WRONG = """
import time
import runnel
study = runnel.create_study({"flag": [True, False], "x": {"uniform": [0, 1]}}, n_trials=6, metric="loss")
def objective(trial):
    assert trial.suggest_categorical("flag", [True, False]) in (True, False)
    trial.report({"loss": 0.25}, 7)
    if trial.number == 0:
        return "abc"
    if trial.number == 1:
        time.sleep(2.5)          # Longer than the lease, which a thread renews.
    if trial.number == 2:
        raise runnel.TrialPruned()
    return trial.params["x"]
study.optimize(objective, n_trials=4, lease="1s", catch=(ValueError,))
trials = study.trials
assert [t["status"] for t in trials] == ["FAILED", "SUCCEEDED", "PRUNED", "SUCCEEDED"], trials
assert [t["attempt"] for t in trials] == [1, 1, 1, 1], trials
assert trials[2]["values"] == {"loss": 0.25}, trials[2]
print(study.id, flush=True)
def taken(trial):
    import subprocess
    subprocess.run(["runnel", "cancel", study.id], check=True)
    trial.report({"loss": 1}, 1)
    if trial.should_prune():
        raise runnel.TrialPruned()
    return 0
study.optimize(taken)
assert study.finished
"""


def test_an_objective_may_be_long_wrong_or_taken_away(runnel, python):
    process = python(LONG_AND_WRONG)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err


TAKEN = """
import runnel
for last in (lambda trial: study.tell(trial, 2), lambda trial: trial.report(2, 1)):
    study = runnel.create_study({"x": {"uniform": [0, 1]}}, n_trials=1)
    trial = study.ask(lease="1s")
    again = None
    while again is None:
        again = study.ask()
    assert (again.number, again.attempt) == (trial.number, 2), (again.number, again.attempt)
    try:
        last(trial)
    except runnel.TrialTaken as error:
        assert error.status == 409 and "was taken away" in str(error), error
    else:
        raise AssertionError("two have one trial")
    study.tell(again, 1)
"""


def test_a_trial_that_was_taken_away_is_caught_by_name(runnel, python):
    out, err = python(TAKEN).communicate(timeout=120)
    assert err == "", err


WITHOUT_VALUE = """
import runnel
study = runnel.create_study({"x": {"uniform": [0, 1]}}, n_trials=4)
for _ in range(4):
    study.ask()
study.tell(0, 1)
study.tell(1, state="failed")
assert [t["values"] for t in study.trials] == [{"value": 1}, None, None, None], study.trials
study.tell(2, 2)
study.tell(3, 3)
assert [t["values"] for t in study.trials] == [{"value": 1}, None, {"value": 2}, {"value": 3}], study.trials
"""


def test_a_trial_without_a_value_says_so(runnel, python):
    out, err = python(WITHOUT_VALUE).communicate(timeout=120)
    assert err == "", err


SPACE = """
import runnel
study = runnel.create_study(
    {"real": {"uniform": [0, 10]}, "log": {"loguniform": [0.1, 10]}, "whole": {"range": [1, 6]},
     "even": {"uniform": [0, 10], "step": 2}, "half": {"uniform": [0, 10], "step": 0.5}, "kind": ["a", "b"],
     "ends": [-10, 10], "long": {"choice": [1, 2, 3, 4, 5, 0.5]}, "one": [1], "many": ["a", "b", "c", "d", "e", "f"], "large": {"range": [2**60 + 1, 2**60 + 2]}},
    n_trials=1, start=[{"real": 5, "log": 1, "half": 2}])
trial = study.ask()

def refused(*words, call):
    try:
        found = call()
    except ValueError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(f"{words}: {found!r}")

# Whole by chance, and the next trial would be cut.
refused("'real'", "uniform", "a real number", '{"range": [0, 10]}', call=lambda: trial.suggest_int("real", 0, 10))
refused("'log'", "loguniform", '{"range": [1, 10]}', call=lambda: trial.suggest_int("log", 1, 10))
refused("'half'", "uniform", call=lambda: trial.suggest_int("half", 0, 10))
for name in ("kind", "ends"):
    refused(f"'{name}'", "choice", "suggest_categorical", '{"uniform": [-10, 10]}',
            call=lambda: trial.suggest_float(name, -10, 10))
    refused("choice", '{"range": [-10, 10]}', call=lambda: trial.suggest_int(name, -10, 10))
refused("[a, b, c, d, e, ...]", call=lambda: trial.suggest_int("many", 1, 6))
refused("'long'", "choice", "would cut", call=lambda: trial.suggest_int("long", 0, 6))
refused("suggest_int", call=lambda: trial.suggest_float("large", 2**60, 2**61))
refused("not from 6 to 10", call=lambda: trial.suggest_float("real", 6, 10))
refused("none of", call=lambda: trial.suggest_categorical("one", [True, False]))

assert trial.suggest_float("real", 0, 10) == 5 and trial.suggest_float("log", 0.1, 10) == 1
assert trial.suggest_int("whole", 1, 6) == trial.suggest_float("whole", 1, 6) == trial.params["whole"]
assert trial.suggest_int("even", 0, 10, step=2) == trial.params["even"] in range(0, 11, 2)
assert trial.suggest_int("large", 2**60, 2**61) == trial.params["large"]
assert trial.suggest_float("long", 0, 6) == trial.params["long"] and trial.suggest_int("one", 0, 6) == 1
assert trial.suggest_categorical("ends", [-10, 10]) == trial.params["ends"]
study.tell(trial, 1)

refused("'x'", '{"uniform": [-10, 10]} for a range, or a list for choices',
        call=lambda: runnel.create_study({"x": (-10, 10)}, n_trials=1))
refused("'x'", '{"uniform": [low, high]}', call=lambda: runnel.create_study({"x": ("a", "b", "c")}, n_trials=1))
second = runnel.create_study({"x": {"uniform": (-10, 10)}}, n_trials=1)  # No doubt what this is.
second.optimize(lambda trial: trial.suggest_float("x", -10, 10))
"""


def test_a_value_is_never_changed_nor_a_range_taken_for_choices(runnel, python):
    out, err = python(SPACE).communicate(timeout=120)
    assert err == "", err


HOLDS_A_TRIAL = """
import sys, time
import runnel
study = runnel.create_study({"x": {"uniform": [0, 1]}}, n_trials=1)
def objective(trial):
    print(study.id, flush=True)
    time.sleep(60)
study.optimize(objective, lease=sys.argv[1])
"""


def test_who_waits_for_a_trial_that_another_holds_says_so(runnel, python):
    holder = python(HOLDS_A_TRIAL, "3s")
    study = holder.stdout.readline().strip()
    began = time.monotonic()
    waiting = python("import runnel, sys\n"
                     "study = runnel.load_study(sys.argv[1])\n"
                     "study.optimize(lambda trial: 1.0)\n"
                     "assert study.trials[0]['attempt'] == 2, study.trials", study)
    assert waiting.stderr.readline() == (
        f"runnel: study {study} waits for 1 trial that another process holds; one that died gives its trial back when "
        "its lease is over, within 60s if it asked as this one does\n")
    assert time.monotonic() - began > 5
    holder.kill()
    holder.communicate()
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0 and err == "", err


def test_a_killed_optimize_gives_its_trial_back_within_a_minute(runnel, python):
    out, err = python("import runnel\n"
                      "study = runnel.create_study({'x': {'uniform': [0, 1]}}, n_trials=2)\n"
                      "study.optimize(lambda trial: 1.0, n_trials=1)\n"
                      "trial = study.ask()\n"
                      "study.tell(trial, 1)\n"
                      "events = runnel.get(f'jobs/{study.id}/events')['events']\n"
                      "print(*(each['lease'] for each in events if each['type'] == 'lane.opened'))"
                      ).communicate(timeout=60)
    assert out.split() == ["60000", "600000"], out + err


# Holds Python's lock, as a library may: the thread that renews the lease stands still.
HOLDS_THE_LOCK = """
import ctypes, sys, time
import runnel
hold = ctypes.PyDLL(None).usleep
study = runnel.create_study({"x": {"uniform": [0, 1]}}, n_trials=1)
def objective(trial):
    if trial.attempt == 1:
        time.sleep(float(sys.argv[2]))
        hold(int(float(sys.argv[3]) * 1e6))
    return 1.0
study.optimize(objective, lease=sys.argv[1])
print(study.trials[0]["attempt"], study.trials[0]["status"])
"""


def test_an_objective_may_hold_the_lock_for_most_of_its_lease(runnel, python):
    # From before a third of the lease until after its end: what was said at a quarter of it must have counted.
    out, err = python(HOLDS_THE_LOCK, "6s", 1.9, 4.4).communicate(timeout=60)
    assert out == "1 SUCCEEDED\n" and err == "", err


def test_who_holds_the_lock_for_longer_is_told_why_the_trial_is_lost(runnel, python):
    out, err = python(HOLDS_THE_LOCK, "1s", 0, 2.5).communicate(timeout=60)
    assert out == "2 SUCCEEDED\n", err
    assert re.fullmatch(r"runnel: study \w+ passes over trial 0: this process was silent for [23] s and its lease is 1s; "
                        r"where .* give optimize\(\) a longer lease\n", err), err


HALTED = """
import pathlib, signal, time
import runnel
signal.signal(signal.SIGINT, signal.default_int_handler)  # Whatever started the tests may ignore it.
study = runnel.create_study({"x": {"uniform": [0, 1]}}, n_trials=3)
def objective(trial):
    while trial.number == 0 and not pathlib.Path("go").exists():
        if not pathlib.Path("begun").exists():
            pathlib.Path("begun").write_text(study.id)
        time.sleep(0.02)
    return trial.params["x"]
study.optimize(objective)
assert [(t["status"], t["attempt"]) for t in study.trials] == [("SUCCEEDED", n) for n in (2, 1, 1)], study.trials
"""


def halted(runnel, python):
    """A process whose study was halted during a trial, when it has said so; and the study."""
    process = python(HALTED)
    study = runnel.until(lambda: (runnel.work / "begun").exists() and (runnel.work / "begun").read_text())
    runnel.run("halt", study)
    (runnel.work / "go").touch()
    line = process.stderr.readline()
    assert line == f"runnel: study {study} is halted, and this process waits; go on with: runnel resume {study}\n"
    return process, study


def test_optimize_waits_while_its_job_is_halted(runnel, python):
    process, study = halted(runnel, python)
    time.sleep(1.5)
    assert process.poll() is None
    runnel.run("resume", study)
    out, err = process.communicate(timeout=60)  # Nothing else is said: this process was not silent.
    assert process.returncode == 0 and err == "", err


def test_a_wait_for_a_halted_job_ends_by_ctrl_c(runnel, python):
    process, study = halted(runnel, python)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in err, err
    runnel.run("cancel", study)


LEFT_BEHIND = """
import runnel
study = runnel.create_study({"x": {"uniform": [0, 1]}}, n_trials=3)
print(study.id, flush=True)
study.optimize(lambda trial: 1.0, n_trials=1)
assert study.importances == {}, study.importances
study.optimize(lambda trial: 1 / 0)
"""


def test_who_leaves_trials_behind_says_how_to_end_the_study(runnel, python):
    out, err = python(LEFT_BEHIND).communicate(timeout=120)
    study = out.strip()
    line = f"runnel: study {study} waits for who asks for its other 2 of 3 trials; end it with: runnel cancel {study}\n"
    assert err.count("waits for who asks") == 1 and err.startswith(line), err
    assert "ZeroDivisionError" in err
    runnel.run("cancel", study)
    out, err = python("import runnel\n"
                      "study = runnel.create_study({'x': [1, 2]}, n_trials=2)\n"
                      "study.optimize(lambda trial: trial.params['x'])").communicate(timeout=120)
    assert err == "", err


def test_a_study_learns_from_another_and_from_its_export(runnel, python):
    old = create(runnel, 12)
    for number in range(12):
        params = runnel.json("study", "ask", old)["params"]
        runnel.run("study", "tell", old, number, "--value", (params["x"] - 1) ** 2 + (params["y"] + 2) ** 2)
    (runnel.work / "old.json").write_text(runnel.run("study", "export", old, "-o", "json"))
    file = runnel.file(STUDY % 2)
    for source in (old, "old.json"):
        new = runnel.json("study", "create", file, "--from", source)["id"]
        assert "learns from 12 earlier trials" in runnel.err
        spec = runnel.json("show", new)["steps"][0]
        assert spec["search"]["asked"] == 0
        runnel.run("cancel", new)
    runnel.run("study", "create", file, "--from", "job.yaml", code=2)
    assert "not JSON" in runnel.err
    runnel.run("delete", "-y", old)
    runnel.run("study", "create", file, "--from", old, code=None)
    assert "there is no job" in runnel.err
