"""What bench/search_quality.py searches: parameters in the words of bench/search_bench.cc, and an objective.

The last three are real trainings. Their accuracies were measured once on a grid by bench/search_tables.py and
are interpolated between its points, so that a trial costs microseconds and everyone sees the same values.
"""

import csv
import functools
import itertools
import math
import pathlib
from dataclasses import dataclass
from typing import Callable

TABLES = pathlib.Path(__file__).resolve().parent / "tables"


@dataclass(frozen=True)
class Problem:
    name: str
    lines: tuple[str, ...]
    value: Callable[[dict], float]
    best: float = 0.0


def branin(at):
    x, y = at["x"], at["y"]
    bend = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bend**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


_HARTMANN_A = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
_HARTMANN_P = ((1312, 1696, 5569, 124, 8283, 5886), (2329, 4135, 8307, 3736, 1004, 9991),
               (2348, 1451, 3522, 2883, 3047, 6650), (4047, 8828, 8732, 5743, 1091, 381))


def hartmann(at):
    x = [at[f"x{i}"] for i in range(6)]
    hills = (math.exp(-sum(a * (v - p / 1e4) ** 2 for a, v, p in zip(row, x, place)))
             for row, place in zip(_HARTMANN_A, _HARTMANN_P))
    return -sum(height * hill for height, hill in zip((1, 1.2, 3, 3.2), hills))


def rosenbrock(at):
    x = [at[f"x{i}"] for i in range(10)]
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:]))


def network(at):
    """A made-up training with what real ones have: scales, interactions, branches, and values that hardly matter."""
    sgd = at["optimizer"] == "sgd"
    loss = 0.15 * (math.log10(at["rate"]) + (1.3 if sgd else 2.9)) ** 2
    loss += 0.8 * (at["momentum"] - 0.9) ** 2 if sgd else 0.05 + 0.02 * (math.log10(1 - at["beta"]) + 2) ** 2
    loss += 0.1 if at["optimizer"] == "lamb" else 0.0
    size = math.log2(at["width"]) + at["layers"] / 2
    loss += 0.03 * (size - 10) ** 2 + 0.3 * (at["dropout"] - (0.05 + 0.03 * max(size - 8, 0))) ** 2
    loss += 0.02 * (math.log10(at["decay"]) + 4) ** 2 * (2 if sgd else 1)
    loss += {"relu": 0.04, "gelu": 0.0, "tanh": 0.12}[at["activation"]]
    return loss + 0.0005 * (at["warmup"] - 5) ** 2


class Table:
    """Values at the points of a grid: linear between the numbers of a column, exact for its words."""

    def __init__(self, name):
        self.path = TABLES / f"{name}.csv"

    @functools.cached_property
    def columns(self):
        """The names of the parameters, the levels of each, and the values at their combinations."""
        with open(self.path, newline="") as file:
            rows = list(csv.DictReader(file))
        names = [name for name in rows[0] if name != "loss"]
        levels = [sorted({self._cell(row[name]) for row in rows}) for name in names]
        return names, levels, {tuple(self._cell(row[name]) for name in names): float(row["loss"]) for row in rows}

    @staticmethod
    def _cell(text):
        try:
            return float(text)
        except ValueError:
            return text

    @staticmethod
    def _corners(levels, value):
        """The neighbours of a value and their shares; numbers between them by their logarithm where all are positive."""
        if isinstance(value, str):
            return [(value, 1.0)]
        value = min(max(value, levels[0]), levels[-1])
        upper = max(1, next(i for i, level in enumerate(levels) if level >= value))
        low, high = levels[upper - 1], levels[upper]
        scale = math.log if levels[0] > 0 else float
        share = (scale(value) - scale(low)) / (scale(high) - scale(low))
        return [(low, 1 - share), (high, share)]

    def __call__(self, at):
        names, levels, values = self.columns
        corners = [self._corners(known, at[name]) for name, known in zip(names, levels)]
        return sum(math.prod(share for _, share in corner) * values[tuple(level for level, _ in corner)]
                   for corner in itertools.product(*corners))


def all_problems():
    return (
        Problem("branin", ("uniform x -5 10", "uniform y 0 15"), branin, 0.397887),
        Problem("hartmann6", tuple(f"uniform x{i} 0 1" for i in range(6)), hartmann, -3.32237),
        Problem("rosenbrock10", tuple(f"uniform x{i} -5 10" for i in range(10)), rosenbrock),
        Problem("network10", (
            "choice optimizer sgd adam lamb", "loguniform rate 1e-5 1", "uniform momentum 0 0.99", "when optimizer sgd",
            "uniform beta 0.9 0.9999", "when optimizer adam lamb", "range layers 1 8", "range width 16 1024 log",
            "choice activation relu gelu tanh", "uniform dropout 0 0.6 0.05", "loguniform decay 1e-6 1e-2",
            "range warmup 0 20"), network),
        Problem("svm-digits", ("loguniform C 0.01 1000", "loguniform gamma 1e-5 1", "choice kernel rbf poly sigmoid"),
                Table("svm-digits")),
        Problem("boosting-cancer", ("loguniform rate 0.003 1", "range depth 1 8", "uniform subsample 0.2 1",
                                    "range trees 5 200 log"), Table("boosting-cancer")),
        Problem("network-diabetes", ("loguniform rate 1e-4 0.3", "loguniform decay 1e-5 10", "range width 4 128 log",
                                     "choice activation relu tanh logistic"), Table("network-diabetes")),
    )
