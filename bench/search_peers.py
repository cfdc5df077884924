"""Studies of Optuna on the problems of bench/search_problems.py; their results are kept in bench/tables.

They follow from problem, sampler, seed and Optuna's version, and take hours to make. Milliseconds per trial are those
of the machine that made them.
"""

import json
import time
import warnings

from home import ROOT
from search_problems import all_problems

CACHE = ROOT / "bench/tables/optuna-5.0.json"
BUDGETS = (50, 100, 200)
# Which studies of Optuna stand beside each method of ours: the better one counts.
PEERS = {"random": ("random",), "tpe": ("tpe", "tpe-joint"), "cma_es": ("cma_es",), "gp": ("gp",)}
# A study of 100 trials takes Optuna's process minutes.
TRIALS = {"gp": 50}


def _sampler(kind, seed):
    from optuna import samplers
    if kind == "tpe-joint":
        return samplers.TPESampler(seed=seed, multivariate=True, group=True)
    return {"random": samplers.RandomSampler, "tpe": samplers.TPESampler, "cma_es": samplers.CmaEsSampler,
            "gp": samplers.GPSampler}[kind](seed=seed)


def _suggest(trial, words):
    kind, name, *rest = words
    if kind == "choice":
        return trial.suggest_categorical(name, rest)
    if kind == "range":
        return trial.suggest_int(name, int(rest[0]), int(rest[1]), log=rest[-1] == "log")
    step = float(rest[2]) if len(rest) > 2 else None
    return trial.suggest_float(name, float(rest[0]), float(rest[1]), step=step, log=kind == "loguniform")


def _point(trial, lines):
    at = {}
    lines = [line.split() for line in lines]
    for words, after in zip(lines, [*lines[1:], [""]]):
        if words[0] == "when" or (after[0] == "when" and at.get(after[1]) not in after[2:]):
            continue
        at[words[1]] = _suggest(trial, words)
    return at


def study(name, kind, seed):
    """The best value after each budget, and milliseconds per trial."""
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    problem = next(problem for problem in all_problems() if problem.name == name)
    trials = TRIALS.get(kind, max(BUDGETS))
    run = optuna.create_study(sampler=_sampler(kind, seed))
    begin = time.monotonic()
    run.optimize(lambda trial: problem.value(_point(trial, problem.lines)), n_trials=trials)
    millis = (time.monotonic() - begin) * 1000 / trials
    values = [trial.value for trial in run.trials]
    return {"best": {str(budget): min(values[:budget]) for budget in BUDGETS if budget <= trials}, "millis": round(millis, 3)}


def _text_of(known):
    """A line per problem and kind."""
    lines = (f"{json.dumps(name)}: {json.dumps(known[name], sort_keys=True)}" for name in sorted(known))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _one(job):
    import torch
    torch.set_num_threads(1)
    return job, study(*job)


def results(seeds, processes):
    """All studies by problem and kind, one per seed; only those that are not in the cache yet are run."""
    import multiprocessing
    known = json.loads(CACHE.read_text()) if CACHE.exists() else {}
    kinds = [kind for peers in PEERS.values() for kind in peers]
    jobs = [(problem.name, kind, seed) for problem in all_problems() for kind in kinds for seed in range(seeds)
            if str(seed) not in known.get(f"{problem.name} {kind}", {})]
    jobs.sort(key=lambda job: job[1] in TRIALS)  # The slow ones last.
    with multiprocessing.Pool(processes) as pool:
        for (name, kind, seed), result in pool.imap_unordered(_one, jobs):
            known.setdefault(f"{name} {kind}", {})[str(seed)] = result
            CACHE.write_text(_text_of(known))
    return known
