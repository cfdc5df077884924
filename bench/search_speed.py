"""What a suggestion costs beside Optuna's, in ten dimensions, as a study grows.

usage: bench/search_speed.py [--most N] [--gp N]

Both grow a study with random trials and then ask and tell in turn; the median counts. Of Optuna's two ways to run TPE
the faster one stands in the ratio. Optuna's GP is measured at `--gp` trials only: it has no cap, ours has one.
"""

import argparse
import os
import platform
import re
import statistics
import subprocess
import time
import warnings

from home import ROOT
from search_quality import enter_venv

BENCH = ROOT / "build/release/bin/search_speed_bench"
PEERS = {"random": ("random",), "tpe": ("tpe", "tpe-joint"), "cma_es": ("cma_es",), "nsga2": ("nsga2",), "gp": ("gp",)}


def ours():
    """Microseconds by method and number of trials."""
    rows = subprocess.run([BENCH], check=True, capture_output=True, text=True).stdout.splitlines()
    return {row.split()[0]: {int(trials): float(micros) for trials, micros in re.findall(r"(\d+): +([\d.]+) us", row)}
            for row in rows}


def distributions():
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
    found = {f"u{axis}": FloatDistribution(-1, 1) for axis in range(6)}
    return found | {"lr": FloatDistribution(1e-5, 1e-1, log=True), "n": IntDistribution(1, 64),
                    "m": IntDistribution(1, 4096, log=True), "c": CategoricalDistribution(["a", "b", "c"])}


def bowl(at):
    return sum(value * value for name, value in at.items() if name.startswith("u")) + (at["n"] / 64 - 0.3) ** 2


class Peer:
    """One study of Optuna in memory."""

    def __init__(self, kind):
        import optuna
        from optuna import samplers
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore")
        make = {"random": samplers.RandomSampler, "tpe": samplers.TPESampler, "cma_es": samplers.CmaEsSampler,
                "nsga2": samplers.NSGAIISampler, "gp": samplers.GPSampler,
                "tpe-joint": lambda seed: samplers.TPESampler(seed=seed, multivariate=True, group=True)}[kind]
        self.sampler = make(seed=1)
        self.study = optuna.create_study(sampler=samplers.RandomSampler(seed=2))
        self.space = distributions()

    def run(self):
        trial = self.study.ask(self.space)
        self.study.tell(trial, bowl(trial.params))

    def grow(self, to):
        import optuna
        self.study.sampler = optuna.samplers.RandomSampler(seed=2)
        for _ in range(to - len(self.study.get_trials(deepcopy=False))):
            self.run()
        self.study.sampler = self.sampler

    def median_micros(self, least=5, seconds=10.0):
        """Of as many as fit into so many seconds, `least` in any case; the first one fills caches."""
        self.run()
        micros, end = [], time.monotonic() + seconds
        while len(micros) < least or (time.monotonic() < end and len(micros) < 300):
            begin = time.perf_counter()
            self.run()
            micros.append((time.perf_counter() - begin) * 1e6)
        return statistics.median(micros)


def main():
    enter_venv()
    import optuna
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=10_000, help="trials up to which Optuna's studies grow")
    parser.add_argument("--gp", type=int, default=100)
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    print(f"{platform.machine()}, {os.cpu_count()} cores, commit {commit.strip()}, Optuna {optuna.__version__}")
    print(f"{'method':<7} {'trials':>7}  {'ours us':>9}  {'Optuna us':>10}  {'ratio':>7}  kind")
    for method, micros in ours().items():
        peers = {kind: Peer(kind) for kind in PEERS[method]}
        for trials, took in micros.items():
            if trials > (arguments.gp if method == "gp" else arguments.most):
                print(f"{method:<7} {trials:>7}  {took:9.1f}", flush=True)
                continue
            found = []
            for kind, peer in peers.items():
                peer.grow(trials)
                found.append((peer.median_micros(), kind))
            theirs, kind = min(found)
            print(f"{method:<7} {trials:>7}  {took:9.1f}  {theirs:10.0f}  {theirs / took:6.0f}x  {kind}", flush=True)


if __name__ == "__main__":
    main()
