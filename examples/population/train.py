"""A member of a population: trains a linear classifier on Fashion-MNIST, saves after every epoch, then reports.

Its learning rate may change from one attempt to the next, and so may what it resumes from: Runnel puts the checkpoint
of a better member in the place of its own.
"""

import argparse
import gzip
import os
import pathlib

import numpy

import runnel

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
PIXELS, CLASSES = 784, 10
TRAINED, HELD_OUT, BATCH = 6_000, 2_000, 50


def read(name, header, count):
    with gzip.open(DATA / name) as file:
        return numpy.frombuffer(file.read(header + count)[header:], numpy.uint8)


def images():
    count = TRAINED + HELD_OUT
    pixels = read("train-images-idx3-ubyte.gz", 16, count * PIXELS).reshape(count, PIXELS)
    x, y = pixels.astype(numpy.float32) / 255, read("train-labels-idx1-ubyte.gz", 8, count)
    return (x[:TRAINED], y[:TRAINED]), (x[TRAINED:], y[TRAINED:])


def train(weights, x, y, lr, epoch):
    order = numpy.random.default_rng(epoch).permutation(len(x))  # The same in every attempt.
    for begin in range(0, len(x), BATCH):
        batch = order[begin : begin + BATCH]
        scores = x[batch] @ weights
        odds = numpy.exp(scores - scores.max(1, keepdims=True))
        odds /= odds.sum(1, keepdims=True)
        odds[numpy.arange(len(batch)), y[batch]] -= 1
        weights -= lr * (x[batch].T @ odds / len(batch))


def save(path, weights, epoch):
    new = path.with_suffix(".saving")  # Whole or not at all, whenever we are ended.
    with open(new, "wb") as file:
        numpy.savez(file, weights=weights, epoch=epoch)
    new.replace(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--epochs", type=int, default=12)
    given = parser.parse_args()
    path = pathlib.Path(os.environ["RUNNEL_CHECKPOINT_DIR"], "state.npz")
    weights, done = numpy.zeros((PIXELS, CLASSES), numpy.float32), 0
    if "RUNNEL_RESUME_FROM" in os.environ and path.exists():
        with numpy.load(path) as state:
            weights, done = state["weights"], int(state["epoch"])
    print(f"goes on after epoch {done} with a learning rate of {given.lr:.6g}", flush=True)
    (x, y), (held_out, labels) = images()
    for epoch in range(done + 1, given.epochs + 1):
        train(weights, x, y, given.lr, epoch)
        save(path, weights, epoch)  # First: once this is reported, others may go on from it.
        runnel.report(step=epoch, error=float((numpy.argmax(held_out @ weights, 1) != labels).mean()))


if __name__ == "__main__":
    main()
