"""Puts the predictions together and tells how the project went: each test image exactly once, one table, one picture."""

import datetime

import numpy
import runnel
from fashion import CLASSES, SHARED
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator


def predictions():
    """Which of the test images were predicted right, by image."""
    labels = numpy.load(SHARED / "test-labels.npy")
    numbers, classes = numpy.concatenate(
        [numpy.load(path) for path in sorted(SHARED.glob("predicted-?.npy"))], axis=1)
    if sorted(numbers) != list(range(len(labels))):
        raise SystemExit(f"{len(numbers)} predictions for {len(labels)} images: some are missing or doubled")
    right = numpy.empty(len(labels), bool)
    right[numbers] = classes == labels[numbers]
    return labels, right


def seconds(step):
    """How long a step took; this one has not ended."""
    if "ended_at" not in step:
        return "-"
    begun, ended = (datetime.datetime.fromisoformat(step[key]) for key in ("started_at", "ended_at"))
    return f"{(ended - begun).total_seconds():.1f}"


def draw(path):
    """The course of each trial and of the training that followed."""
    figure = Figure(figsize=(10, 4), layout="tight")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, step, title in ((left, "search", "trials of the search"), (right, "train", "training of the best")):
        for series in runnel.reports(step):
            samples = [sample for sample in series["samples"] if "accuracy" in sample["values"]]
            axes.plot([sample["step"] for sample in samples],
                      [sample["values"]["accuracy"] for sample in samples], marker="o", markersize=3)
        axes.set(title=title, xlabel="epoch", ylabel="accuracy on held-back images")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def main():
    labels, right = predictions()
    job = runnel.job()
    print(f"{'class':10} accuracy")
    for number, name in enumerate(CLASSES):
        print(f"{name:10} {right[labels == number].mean():.4f}")
    print(f"{'all':10} {right.mean():.4f} over {len(labels)} test images, each predicted once\n")
    priced = "cost" in job  # One's own machine has no price until one is set.
    print(f"{'step':10} {'tasks':>5} {'seconds':>8}" + (f" {'cost':>9}" if priced else ""))
    for step in job["steps"]:
        cost = f"${step.get('cost', {}).get('spent', 0):.4f}"
        print(f"{step['name']:10} {step['tasks']:5} {seconds(step):>8}" + (f" {cost:>9}" if priced else ""))
    search = next(step["search"] for step in job["steps"] if step["name"] == "search")
    best = search["best"]
    chosen = ", ".join(f"{name} {value}" for name, value in best["params"].items())
    print(f"\nbest of {search['asked']} trials: number {best['trial']}, {chosen}")
    draw(SHARED / "curves.png")
    print(f"curves: {SHARED / 'curves.png'}")
    cost = f", cost ${job['cost']['spent']:.4f}" if priced else ""
    print(f"accuracy {right.mean():.4f}{cost}")


if __name__ == "__main__":
    main()
