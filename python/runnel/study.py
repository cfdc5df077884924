"""Searches whose trials this process runs: ask for one, tell what came of it, or optimize() a function.

The words are Optuna's; the space is written as in a job file, and the study lives in the home (or the service of
$RUNNEL_API), so that any number of processes and languages can work on it and none of them can lose it.
"""

import json
import contextlib
import functools
import http.client
import math
import os
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from runnel import client, space

LEASE = "10m"
# The lease of optimize(), which renews it: so long after its process died a trial goes to another.
KEPT_LEASE = "60s"
# A lost word or a busy machine must not cost a trial. The service counts a word a quarter of the lease after the one
# that it counted last, so that six of these may still do it before the lease is over.
RENEWALS_PER_LEASE = 8
# Share of a lease that a process may always be silent for.
SAFE_SILENCE = 0.75
WAIT_S = 0.5
# So long optimize() waits for others in silence.
QUIET_WAIT_S = 5


class TrialPruned(Exception):
    """Raised by an objective to end its trial early: `if trial.should_prune(): raise runnel.TrialPruned()`."""


class TrialTaken(client.ServiceError):
    """The trial is not this process's any more: tell() and report() raise it, with `status` 409 as HTTP has it.

    Its job was halted, cancelled or has ended, or it went to another because its asker was silent for longer than
    the lease, or it has another end already. What was told counts for nothing: ask for another trial. In an
    objective let it pass, after what has to be tidied up; optimize() goes on with the next trial.
    """


class Trial:
    """One parameter set that was asked for.

    number: its place in the study, from 0. attempt: from 1; more than 1 when somebody had it before and was lost.
    params: values by name; a parameter that takes no part has none. Threads: one at a time.
    """

    def __init__(self, study: "Study", document: dict):
        self.number: int = document["trial"]
        self.attempt: int = document["attempt"]
        self.params: dict[str, Any] = document["params"]
        self._study = study
        self._stop = False
        self._last: dict = {}  # Its last report, which is its result when it is pruned.
        self._heard_at = time.monotonic()  # When the service last took a word for it.
        self._silence_s: float | None = None  # How long that was ago when it refused one.

    def suggest_float(self, name: str, low: float, high: float, *, step: float | None = None,
                      log: bool = False) -> float:
        """The study's value of `name`; KeyError when unknown.

        ValueError when it is not from `low` to `high`, or `name` is declared as choices that are no numbers, or these two:
        see suggest_categorical().
        step and log are the space's to say, and are taken so that code written for Optuna runs.
        """
        space.check_number(name, self._study._space[name], self._value(name), low, high)
        return float(self._between(name, low, high))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """As suggest_float(); ValueError also when `name` is declared as real numbers: write {"range": [low, high]}."""
        space.check_integer(name, self._study._space[name], self._value(name), low, high)
        return int(self._between(name, low, high))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """The choice that the study has for `name`; ValueError when it is none of `choices`."""
        value = self._value(name)
        for choice in choices:
            same = choice == value and not isinstance(choice, bool)  # To Python True is 1.
            if same or _spelled(choice) == _spelled(value):
                return choice
        raise ValueError(f"'{name}' is {value!r}, which is none of {list(choices)!r}; the study's space decides")

    def report(self, value: float | Mapping[str, float], step: int) -> None:
        """A value on the way, at `step` of the training: the pruner judges it, and the lease is renewed.

        Raises TrialTaken when the trial went to another, ValueError for a step that is no whole number.
        """
        if step != int(step):
            raise ValueError(f"step is {step}; it must be a whole number: count batches or epochs")
        self._last = {"step": int(step), **_values(value)}
        self._stop = self._study._speak(self, "report", self._last)["stop"]

    def should_prune(self) -> bool:
        """Whether the last report() was answered with the end of the trial."""
        return self._stop

    def _value(self, name: str) -> Any:
        if name not in self.params:
            raise KeyError(f"the study has no '{name}' for this trial; it has {sorted(self.params)}")
        return self.params[name]

    def _between(self, name: str, low: float, high: float) -> float:
        value = self._value(name)
        if not low <= value <= high:
            raise ValueError(f"'{name}' is {value!r}, not from {low} to {high}; the study's space decides")
        return value


class Study:
    """A search that is asked. Made by create_study() or load_study(). Threads: any."""

    def __init__(self, id: str, step: str | None = None):
        self.id = id
        self.step = step
        self._told_of_rest = False
        self._told_of_wait = False

    def ask(self, lease: str = LEASE) -> Trial | None:
        """The next trial, for whoever runs it: others get others. None when none is left to give now: see finished.

        lease: how long this process may be silent before its trial goes to another; report() and tell() speak.
        Raises ServiceError (409) while the job is halted, or waits for steps before this one.
        """
        answer = self._ask(lease)
        return None if answer["trial"] is None else Trial(self, answer)

    def tell(self, trial: Trial | int, value: float | Sequence[float] | Mapping[str, float] | None = None,
             state: str = "complete", message: str = "", step: int = 0) -> dict:
        """What came of a trial: its value, one per objective, or by name. Saying the same again changes nothing.

        state: "complete", "pruned" or "failed". step: of the training. Raises TrialTaken when the trial has another end,
        or is not this process's any more; ServiceError for a value that is none.
        """
        body = {"state": state, "message": message, "step": step, **({} if value is None else _values(value))}
        return self._speak(trial, "tell", body)

    def optimize(self, objective: Callable[[Trial], float | Sequence[float]], n_trials: int | None = None, *,
                 lease: str = KEPT_LEASE, catch: tuple[type[Exception], ...] = ()) -> None:
        """Asks, calls `objective` and tells, until the study has ended or this process has run `n_trials`.

        Waits while others hold the last trials, and after 5 s says so on stderr, once. TrialPruned ends a trial early.
        Any other exception, and a value that is no number, tells that the trial failed, and is raised unless `catch`
        names it. A trial that was taken away (its job was halted or cancelled) is passed over. While the job is halted
        it waits, which stderr says once with the command that goes on; Ctrl-C ends it. Where trials are left for
        others to ask for, stderr says so, once.

        lease: so long after this process died its trial goes to another. A thread renews it, so an objective may
            take as long as it takes; but one call that holds Python's lock (the GIL) for more than three quarters of
            it, or a process that stands still for so long, may lose the trial, which stderr says.
        """
        try:
            self._optimize(objective, n_trials, lease, catch)
        finally:
            self._tell_of_rest()

    def _optimize(self, objective: Callable, n_trials: int | None, lease: str,
                  catch: tuple[type[Exception], ...]) -> None:
        done = 0
        while n_trials is None or done < n_trials:
            trial = self._next(lease)
            if trial is None:
                return
            try:
                with self._kept(trial, lease):
                    self._run(objective, trial, catch)
            except TrialTaken:
                self._tell_of_silence(trial, lease)
            done += 1

    def _next(self, lease: str) -> Trial | None:
        """The next trial, as soon as there is one; None when the study has ended."""
        halted, began = False, time.monotonic()
        while True:
            answer = self._ask_unless_halted(lease)
            if answer is not None and answer["trial"] is not None:
                return Trial(self, answer)
            if answer is not None and answer["finished"]:
                return None
            if answer is None and not halted:
                self._say(f"is halted, and this process waits; go on with: runnel resume {self.id}")
            halted = answer is None
            if halted:
                began = time.monotonic()
            elif time.monotonic() - began > QUIET_WAIT_S:
                self._tell_of_wait(answer, lease)
            time.sleep(WAIT_S)

    def _ask_unless_halted(self, lease: str) -> dict | None:
        """As _ask(); None while the job is halted."""
        try:
            return self._ask(lease)
        except client.ServiceError as error:
            if error.status != 409:
                raise
        if self._is_halted():
            return None
        return self._ask(lease)  # It was resumed in between, or refuses for another reason.

    def _is_halted(self) -> bool:
        """Also while other steps of the job are still ending, when the job is not yet PAUSED."""
        waits = client.call("GET", f"jobs/{quote(self.id, safe='')}/explain")["waits"]
        return any(wait["reason"] == "JobHeldUser" for wait in waits)

    def _tell_of_wait(self, answer: dict, lease: str) -> None:
        """The service does not tell the leases of others: this process's own stands for those of its kind."""
        if self._told_of_wait:
            return
        self._told_of_wait = True
        held = answer["running"]
        if held > 0:
            trials = "1 trial that another process holds" if held == 1 else f"{held} trials that other processes hold"
            self._say(f"waits for {trials}; one that died gives its trial back when its lease is over, within {lease} "
                      "if it asked as this one does")
        else:
            self._say(f"waits until a trial may be given; why not yet: runnel explain {self.id}")

    def _tell_of_silence(self, trial: Trial, lease: str) -> None:
        """A halt is told of by whoever asks next, and an end needs no word."""
        if trial._silence_s is not None and trial._silence_s > SAFE_SILENCE * _seconds(lease):
            self._say(f"passes over trial {trial.number}: this process was silent for {trial._silence_s:.0f} s and its "
                      f"lease is {lease}; where a call of the objective holds Python's lock for so long, give "
                      "optimize() a longer lease")

    def _tell_of_rest(self) -> None:
        """A study waits for who asks, however long; whoever leaves trials behind should know how to end it."""
        left = 0
        with contextlib.suppress(client.ServiceError, OSError, http.client.HTTPException):
            document = self._document(client.get)
            left = 0 if _has_ended(document) else sum(document["counts"].get(each, 0) for each in ("QUEUED", "RECOVERING"))
        if left == 0 or self._told_of_rest:
            return
        self._told_of_rest = True
        self._say(f"waits for who asks for its other {left} of {document['tasks']} trials; end it with: "
                  f"runnel cancel {self.id}")

    def _say(self, text: str) -> None:
        print(f"runnel: study {self.id} {text}", file=sys.stderr, flush=True)

    @property
    def finished(self) -> bool:
        """Whether no trial will be given any more."""
        return _has_ended(self._document())

    @property
    def trials(self) -> list[dict]:
        """All that were asked for: {"trial", "params", "status", "values", "best", "attempt"} each.

        values: by metric; None while the trial has none, as when it runs or failed.
        best: of several objectives each trial of the front has True.
        """
        found: list[dict] = []
        token = ""
        while True:
            page = client.call("GET", self._path("trials", limit=1000, **({"page_token": token} if token else {})))
            found += ({"values": None, **trial} for trial in page["trials"])
            token = page.get("next_page_token", "")
            if not token:
                return found

    @property
    def best_trial(self) -> dict:
        """{"trial", "params", "values", "step"}; ValueError while no trial has ended with a value."""
        best = self._document()["search"].get("best")
        if best is None:
            raise ValueError("no trial has ended with a value yet")
        # There a job's document has the texts of a job file; the trial's own has numbers.
        page = client.call("GET", self._path("trials", limit=1, page_token=best["trial"]))
        return {**best, "params": page["trials"][0]["params"]}

    @property
    def best_params(self) -> dict[str, Any]:
        return self.best_trial["params"]

    @property
    def best_value(self) -> float:
        """The best trial's value of the first objective."""
        name = self._document()["search"]["objectives"][0]["metric"]
        return self.best_trial["values"][name]

    @property
    def importances(self) -> dict[str, float]:
        """How much each parameter decides about the first objective, the largest first; they add up to 1.

        Empty while that cannot be told: too few trials (at least 6 must have ended whole), or all alike.
        """
        shares = client.call("GET", self._path("importance"))["importance"]
        return {each["name"]: each["share"] for each in shares} if any(each["share"] for each in shares) else {}

    def _ask(self, lease: str) -> dict:
        """{"trial": number, "attempt", "params"}; or, with none to give, {"trial": None, "finished", "running",
        "waiting"}."""
        # With the same word a repeat is answered with the same trial: a daemon that died has lost none.
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        return client.call("POST", self._path("trials:ask"), json.dumps({"lease": lease}).encode(), headers)

    def _run(self, objective: Callable, trial: Trial, catch: tuple[type[Exception], ...]) -> None:
        try:
            body = {"state": "complete", **_values(objective(trial))}
        except TrialPruned:
            body = {"state": "pruned", **trial._last}
        except TrialTaken:
            raise
        except Exception as error:
            self._speak(trial, "tell", {"state": "failed", "message": f"{type(error).__name__}: {error}"[:1000]})
            if isinstance(error, catch):
                return
            raise
        self._speak(trial, "tell", body)

    @contextlib.contextmanager
    def _kept(self, trial: Trial, lease: str) -> Iterator[None]:
        """Says RENEWALS_PER_LEASE times per lease that somebody is there."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(_seconds(lease) / RENEWALS_PER_LEASE):
                with contextlib.suppress(client.ServiceError, OSError, http.client.HTTPException):
                    self._speak(trial, "report", {})

        thread = threading.Thread(target=renew, name="runnel-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    @functools.cached_property
    def _space(self) -> dict[str, dict]:
        """How each parameter is declared, as a job's specification has it: it stays as it was created."""
        steps = client.call("GET", f"jobs/{quote(self.id, safe='')}?include=spec")["spec"]["steps"]
        own = next(step for step in steps if "search" in step and self.step in (None, step["name"]))
        return {each["name"]: each for each in own["params"]}

    def _document(self, get: Callable[[str], dict] = lambda path: client.call("GET", path)) -> dict:
        for step in get(f"jobs/{quote(self.id, safe='')}")["steps"]:
            if "search" in step and self.step in (None, step["name"]):
                return step
        raise KeyError(f"job {self.id} has no search {self.step or ''}")

    def _path(self, rest: str, **query: Any) -> str:
        if self.step is not None:
            query["step"] = self.step
        return f"jobs/{quote(self.id, safe='')}/{rest}" + (f"?{urlencode(query)}" if query else "")

    def _post(self, rest: str, body: dict) -> dict:
        return client.call("POST", self._path(rest), json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _speak(self, trial: Trial | int, verb: str, body: dict) -> dict:
        if not isinstance(trial, Trial):
            return self._post_of_trial(trial, verb, body)
        said_at = time.monotonic()  # An answer may be read late: another call held Python's lock meanwhile.
        try:
            answer = self._post_of_trial(trial.number, verb, {"attempt": trial.attempt, **body})
        except TrialTaken:
            if trial._silence_s is None:  # Later ones are as late as whoever speaks.
                trial._silence_s = time.monotonic() - trial._heard_at
            raise
        if not answer.get("stop"):  # One whose lease is over is asked to stop before it is refused.
            trial._heard_at = said_at
        return answer

    def _post_of_trial(self, number: int, verb: str, body: dict) -> dict:
        try:
            return self._post(f"trials/{number}:{verb}", body)
        except client.ServiceError as error:
            raise TrialTaken(error.status, str(error)) if error.status == 409 else error from None


def create_study(params: Mapping[str, Any], *, n_trials: int, metric: str = "value", direction: str = "minimize",
                 objectives: Mapping[str, str] | None = None, name: str = "study", seed: int = 0,
                 earlier: "Study | Sequence[Mapping[str, Any]] | None" = None, **search: Any) -> Study:
    """A new study.

    params: as in a job file: {"lr": {"loguniform": [1e-5, 0.1]}, "layers": {"range": [1, 6]}, "kind": ["a", "b"]}.
        A list is choices, and a tuple is refused.
    direction: "minimize" or "maximize", of `metric`; or objectives: {"accuracy": "max", "seconds": "min"}.
    earlier: a study to learn from, or trials: [{"params": {...}, "values": {...}}]. Their parameters must be
        possible here.
    search: what else the job file's `search` takes: method="tpe", pruner={"method": "asha", "max_step": 20}, start=[{...}], max_duration="1h".
    Raises ServiceError with the sentence that `runnel validate` would print, ValueError for a wrong direction and for
    a tuple.
    """
    space.check_written(params)
    if direction not in ("minimize", "maximize"):
        raise ValueError(f"direction is {direction!r}; write 'minimize' or 'maximize'")
    goal = {"objectives": dict(objectives)} if objectives else {"metric": metric, "mode": direction[:3]}
    trials = earlier.trials if isinstance(earlier, Study) else earlier or []
    search["from"] = [{"params": trial["params"], "values": trial["values"]}
                      for trial in trials if trial.get("status", "SUCCEEDED") == "SUCCEEDED"]
    job = {"name": name, "seed": seed, "params": dict(params), "search": {**goal, "max_trials": n_trials, **search}}
    headers = {"Content-Type": "application/yaml", "Idempotency-Key": uuid.uuid4().hex}
    query = urlencode({"workdir": os.getcwd()})
    return Study(client.call("POST", f"jobs?{query}", json.dumps(job).encode(), headers)["id"])


def load_study(id: str, step: str | None = None) -> Study:
    """The study of a job: its id, and the step's name when it has several searches."""
    study = Study(client.call("GET", f"jobs/{quote(id, safe='')}")["id"], step)
    study._document()
    return study


def _values(value: float | Sequence[float] | Mapping[str, float]) -> dict:
    if isinstance(value, Mapping):
        return {"metrics": {name: _number(each) for name, each in value.items()}}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"values": [_number(each) for each in value]}
    return {"value": _number(value)}


def _has_ended(step: dict) -> bool:
    return step["status"] in ("SUCCEEDED", "FAILED", "CANCELLED", "SKIPPED")


def _spelled(value: Any) -> str:
    """As a job file spells it: True is true, None is null."""
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def _seconds(lease: str) -> float:
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
    return sum(float(count) * units[unit] for count, unit in re.findall(r"([0-9.]+)(ms|s|m|h|d)", lease)) or 1


def _number(value: Any) -> float | int | str:
    number = float(value)
    return number if math.isfinite(number) else str(number)
