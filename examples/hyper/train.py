"""Trains a linear classifier on Fashion-MNIST; started by torchrun, its processes share the images."""

import argparse
import gzip
import json
import os
import pathlib
import time

import numpy

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
CLASSES = 10
PIXELS = 784
IMAGES = 12_000


def read(name, header, count):
    with gzip.open(DATA / name) as file:
        return numpy.frombuffer(file.read(header + count)[header:], numpy.uint8)


def images(kind, count):
    pixels = read(f"{kind}-images-idx3-ubyte.gz", 16, count * PIXELS).reshape(count, PIXELS)
    return pixels.astype(numpy.float32) / 255, read(f"{kind}-labels-idx1-ubyte.gz", 8, count)


def gradient(weights, x, y):
    scores = x @ weights
    odds = numpy.exp(scores - scores.max(1, keepdims=True))
    odds /= odds.sum(1, keepdims=True)
    odds[numpy.arange(len(y)), y] -= 1
    return x.T @ odds / len(y)


def averager(world):
    """What the processes of a gang do with their gradients; alone, nothing."""
    if world == 1:
        return lambda values: values
    import torch

    torch.distributed.init_process_group("gloo")

    def average(values):
        shared = torch.from_numpy(values)
        torch.distributed.all_reduce(shared)
        return values / world

    return average


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="tell a search the error and the seconds it took")
    parser.add_argument("--out", help="write the result to the job's folder under this name")
    given = parser.parse_args()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    average = averager(world)
    weights = numpy.zeros((PIXELS, CLASSES), numpy.float32)
    x, y = images("train", IMAGES)
    begun = time.monotonic()
    x, y = x[rank::world], y[rank::world]
    for _ in range(given.epochs):
        for begin in range(0, len(x), given.batch_size):
            batch = slice(begin, begin + given.batch_size)
            weights -= given.lr * average(gradient(weights, x[batch], y[batch]))
    took = time.monotonic() - begun
    x, y = images("t10k", 2_000)
    accuracy = float(((x @ weights).argmax(1) == y).mean())
    if rank == 0:
        print(f"accuracy {accuracy:.4f} with lr {given.lr} and batches of {given.batch_size}")
    if given.report:
        import runnel

        runnel.report(error=1 - accuracy, seconds=took)
    if given.out:
        name = f"{given.out}-{os.environ['RUNNEL_TASK_INDEX']}.json"
        result = json.dumps({"accuracy": accuracy, "lr": given.lr, "batch_size": given.batch_size})
        pathlib.Path(os.environ["RUNNEL_JOB_DIR"], name).write_text(result)


if __name__ == "__main__":
    main()
