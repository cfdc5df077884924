"""Early stopping on the same learning curves: ours, and Optuna's pruners.

usage: build/bench-venv/bin/python bench/pruning.py [--studies N]

Rows are mean regrets (the best value seen, less the best of all curves) after so many steps; the last
column is the mean over all of them. Eight workers in step run 256 curves of 64 steps.
"""

import argparse
import subprocess

from home import ROOT

BINARY = ROOT / "build/release/bin/pruning_bench"
BUDGET, STEPS, WORKERS = 2048, 64, 8
MARKS = (256, 512, 1024, 2048)


def curves(study):
    text = subprocess.run([BINARY, "curves", str(study)], check=True, capture_output=True, text=True).stdout
    return [[float(word) for word in line.split()] for line in text.splitlines()]


def regrets(optuna, pruner, lines):
    """The regret after each step that was spent; as Study::run() of pruning_bench.cc."""
    study = optuna.create_study(pruner=pruner)
    best_of_all, best, out = min(map(min, lines)), float("inf"), []
    trials, workers = iter(lines), [None] * WORKERS
    while len(out) < BUDGET:
        busy = False
        for number in range(WORKERS):
            if workers[number] is None:
                line = next(trials, None)
                if line is None:
                    continue
                workers[number] = [study.ask(), line, 0]
            busy = True
            trial, line, step = workers[number]
            workers[number][2] += 1
            best = min(best, line[step])
            out.append(best - best_of_all)
            trial.report(line[step], step + 1)
            if step + 1 == STEPS:
                study.tell(trial, line[step])
                workers[number] = None
            elif trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                workers[number] = None
        if not busy:
            break
    return (out + [out[-1]] * BUDGET)[:BUDGET]


def row(title, mean):
    figures = " ".join(f"{mean[mark - 1]:9.4f}" for mark in MARKS)
    print(f"{title:<34} {figures} {sum(mean) / BUDGET:9.4f}", flush=True)


def peers(studies):
    try:
        import optuna
    except ImportError:
        print("Optuna                             not measured: it is not there (tools/setup.sh --bench)")
        return
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kinds = {
        "Optuna, successive halving": lambda: optuna.pruners.SuccessiveHalvingPruner(1, 4),
        "Optuna, Hyperband": lambda: optuna.pruners.HyperbandPruner(1, STEPS, 4),
        "Optuna, median": lambda: optuna.pruners.MedianPruner(5),
    }
    lines = [curves(study) for study in range(studies)]
    for title, make in kinds.items():
        runs = [regrets(optuna, make(), one) for one in lines]
        row(title, [sum(column) / studies for column in zip(*runs, strict=True)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=40)
    arguments = parser.parse_args()
    print(f"{'mean regret after steps':<34} " + " ".join(f"{mark:>9}" for mark in MARKS) + "      mean", flush=True)
    subprocess.run([BINARY], check=True)
    peers(arguments.studies)


if __name__ == "__main__":
    main()
