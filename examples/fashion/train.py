"""Trains a small network on Fashion-MNIST with data-parallel gloo processes, saving after each epoch.

Started by Runnel it finds RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; alone it is one process.
"""

import argparse
import gzip
import os
import pathlib
import struct

import numpy
import torch
import torch.distributed as dist
from torch import nn

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")  # Of the Debian package dataset-fashion-mnist.


def opened(name):
    if not (DATA / name).exists():
        raise SystemExit(f"{DATA / name} is missing: install the package dataset-fashion-mnist")
    return gzip.open(DATA / name)


def images(name):
    with opened(name) as file:
        _, count, rows, columns = struct.unpack(">4I", file.read(16))
        pixels = numpy.frombuffer(file.read(), dtype=numpy.uint8)
    return torch.from_numpy(pixels.reshape(count, rows * columns).astype(numpy.float32) / 255.0)


def labels(name):
    with opened(name) as file:
        struct.unpack(">2I", file.read(8))
        return torch.from_numpy(numpy.frombuffer(file.read(), dtype=numpy.uint8).astype(numpy.int64))


def save(path, epoch, model, optimiser):
    """Whoever dies while saving leaves the checkpoint before whole."""
    partial = path.with_suffix(".partial")
    torch.save({"epoch": epoch, "model": model.state_dict(), "optimiser": optimiser.state_dict()}, partial)
    partial.rename(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=256)
    arguments = parser.parse_args()

    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    rank = dist.get_rank() if dist.is_initialized() else 0
    world = dist.get_world_size() if dist.is_initialized() else 1

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    if dist.is_initialized():
        model = nn.parallel.DistributedDataParallel(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=arguments.lr, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()

    checkpoint = pathlib.Path(os.environ.get("RUNNEL_CHECKPOINT_DIR", ".")) / "model.pt"
    first = 0
    if checkpoint.exists() and os.environ.get("RUNNEL_RESUME_FROM"):
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        first = saved["epoch"] + 1
        print(f"rank {rank} goes on at epoch {first}", flush=True)

    inputs, targets = images("train-images-idx3-ubyte.gz"), labels("train-labels-idx1-ubyte.gz")
    for epoch in range(first, arguments.epochs):
        order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(epoch))[rank::world]
        for begin in range(0, len(order), arguments.batch):
            batch = order[begin:begin + arguments.batch]
            optimiser.zero_grad()
            loss = loss_of(model(inputs[batch]), targets[batch])
            loss.backward()
            optimiser.step()
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
            save(checkpoint, epoch, model, optimiser)

    if rank == 0:
        with torch.no_grad():
            guesses = model(images("t10k-images-idx3-ubyte.gz")).argmax(dim=1)
        accuracy = (guesses == labels("t10k-labels-idx1-ubyte.gz")).float().mean().item()
        print(f"accuracy {accuracy:.4f}", flush=True)
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
