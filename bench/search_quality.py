"""How good our searches are beside Optuna's: the same budgets, many seeds, a rank test per problem.

usage: bench/search_quality.py [--seeds N] [--methods tpe,cma_es,gp] [--processes N] [--only-peers]

Needs build/release/bin/search_bench. The first run makes build/bench-venv. Optuna's studies are in
bench/tables/optuna-5.0.json; those that are missing there are made, which takes hours for all of them (remove the file
when a problem has changed). The last table says what `auto` comes to beside the best of our samplers.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
from multiprocessing.pool import ThreadPool

from home import ROOT

VENV = ROOT / "build/bench-venv"
PACKAGES = ROOT / "python/requirements-bench.lock"
BENCH = ROOT / "build/release/bin/search_bench"
TRIALS = {"gp": 100, "auto": 100}  # Of our studies; those of others take hundreds of times the cheapest of them.


def enter_venv():
    """Goes on in the virtual environment of the peers, made when it is not there."""
    if pathlib.Path(sys.prefix) == VENV:
        return
    python = VENV / "bin/python"
    if not python.exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", VENV], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", PACKAGES], check=True)
    os.execv(python, [python, *sys.argv])


def value_of(text):
    try:
        return float(text)
    except ValueError:
        return text


class Ours:
    """One study of our sampler, through bench/search_bench.cc."""

    def __init__(self, problem, method, trials, seed):
        with subprocess.Popen([BENCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as self.process:
            self.say(*problem.lines, f"begin {method} {trials} {seed}")
            self.values = []
            for _ in range(trials):
                at = dict(pair.split("=") for pair in self.ask("ask").split())
                self.values.append(problem.value({name: value_of(text) for name, text in at.items()}))
                self.say(f"tell {self.values[-1]!r}")
            self.millis = int(self.ask("end")) / 1e6

    def say(self, *lines):
        self.process.stdin.write("".join(line + "\n" for line in lines))

    def ask(self, line):
        self.say(line)
        self.process.stdin.flush()
        return self.process.stdout.readline()


def ours(problem, method, seeds, processes):
    """The best values after each budget, one per seed, and milliseconds per trial."""
    from search_peers import BUDGETS
    trials = TRIALS.get(method, max(BUDGETS))
    with ThreadPool(processes) as pool:  # Each study is a process of its own.
        studies = pool.map(lambda seed: Ours(problem, method, trials, seed), range(seeds))
    best = {budget: [min(study.values[:budget]) for study in studies] for budget in BUDGETS if budget <= trials}
    return best, statistics.mean(study.millis for study in studies)


def peer(known, problem, kinds, budget):
    """The kind with the lower median: its bests, its milliseconds, its name."""
    found = []
    for kind in kinds:
        runs = known.get(f"{problem.name} {kind}", {}).values()
        bests = [run["best"][str(budget)] for run in runs if str(budget) in run["best"]]
        if bests:
            found.append((statistics.median(bests), bests, statistics.mean(run["millis"] for run in runs), kind))
    return min(found)[1:] if found else None


def compared(problem, method, measured, known):
    """A row per budget for which there are studies of Optuna."""
    from scipy.stats import mannwhitneyu
    from search_peers import PEERS
    best, millis = measured
    for budget, values in best.items():
        other = peer(known, problem, PEERS[method], budget)
        if other is None:
            continue
        yield {"method": method, "problem": problem.name, "budget": budget,
               "ours": statistics.median(values) - problem.best,
               "theirs": statistics.median(other[0]) - problem.best, "kind": other[2],
               "millis": millis, "their_millis": other[1], "p": mannwhitneyu(values, other[0]).pvalue}


def print_auto(problem, measured, methods):
    for budget, values in measured["auto"][0].items():
        singles = {method: statistics.median(measured[method][0][budget]) - problem.best
                   for method in methods if budget in measured[method][0]}
        best = min(singles, key=singles.get)
        print(f"{problem.name:<17} {budget:>4}  {statistics.median(values) - problem.best:9.5f}  "
              f"{singles[best]:9.5f}  {best}")


def verdicts(rows):
    """Holm's correction: the row with the k-th smallest p counts when p * (m - k) and all before it are below 0.05."""
    alive = True
    for place, row in enumerate(sorted(rows, key=lambda row: row["p"])):
        row["holm"] = min(1.0, row["p"] * (len(rows) - place))
        alive = alive and row["holm"] < 0.05
        row["verdict"] = "" if not alive else "better" if row["ours"] < row["theirs"] else "WORSE"


def main():
    enter_venv()
    import search_peers
    import search_problems
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--methods", default="random,tpe,cma_es,gp")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--only-peers", action="store_true")
    parser.add_argument("--cached", action="store_true", help="compare with the studies of Optuna that are there")
    arguments = parser.parse_args()
    known = search_peers.results(0 if arguments.cached else arguments.seeds, arguments.processes)
    if arguments.only_peers:
        return
    methods, problems = arguments.methods.split(","), search_problems.all_problems()
    measured = {problem.name: {method: ours(problem, method, arguments.seeds, arguments.processes)
                               for method in [*methods, "auto"]} for problem in problems}
    rows = [row for method in methods for problem in problems
            for row in compared(problem, method, measured[problem.name][method], known)]
    verdicts(rows)
    print(f"{'method':<7} {'problem':<17} {'n':>4}  {'ours':>9}  {'Optuna':>9}  {'kind':<9}  {'Holm p':>7}  "
          f"{'ours ms':>8}  {'Optuna ms':>9}")
    for row in rows:
        print(f"{row['method']:<7} {row['problem']:<17} {row['budget']:>4}  {row['ours']:9.5f}  {row['theirs']:9.5f}  "
              f"{row['kind']:<9}  {row['holm']:7.3f}  {row['millis']:8.3f}  {row['their_millis']:9.3f}  {row['verdict']}")
    print(f"\n{'problem':<17} {'n':>4}  {'auto':>9}  {'best':>9}  which")
    for problem in problems:
        print_auto(problem, measured[problem.name], methods)


if __name__ == "__main__":
    main()
