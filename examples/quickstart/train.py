"""Trains the network, alone or as one process of a gang (gloo), saving and reporting after each epoch.

The last 10,000 training images are held back to judge by: `accuracy` is never of test images.
"""

import argparse
import os
import pathlib

import numpy
import runnel
import torch
import torch.distributed as dist
from fashion import SHARED, network
from torch import nn

HELD_BACK = 10_000


def data(fraction):
    images = torch.from_numpy(numpy.load(SHARED / "train-images.npy"))
    labels = torch.from_numpy(numpy.load(SHARED / "train-labels.npy"))
    count = int((len(images) - HELD_BACK) * fraction)
    return (images[:count], labels[:count]), (images[-HELD_BACK:], labels[-HELD_BACK:])


def save(path, **state):
    """Whoever dies while saving leaves the checkpoint before whole."""
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.rename(path)


def run_epoch(model, optimiser, schedule, split, epoch, batch):
    """One pass over this rank's share, in an order that depends on the epoch alone."""
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    images, labels = split
    torch.manual_seed(1_000 * epoch + rank)  # Dropout, too, is the same after a restart.
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
    order = order[rank:len(order) - len(order) % world:world]
    total = 0.0
    model.train()
    for begin in range(0, len(order), batch):
        chosen = order[begin:begin + batch]
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
        loss.backward()
        optimiser.step()
        total += loss.item() * len(chosen)
    schedule.step()
    return total / len(order)


def accuracy_of(model, split):
    model.eval()
    with torch.no_grad():
        return (model(split[0]).argmax(dim=1) == split[1]).float().mean().item()


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fraction", type=float, default=1.0)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--out", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = arguments()
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    rank = dist.get_rank() if dist.is_initialized() else 0
    torch.manual_seed(0)
    plain = network(options.width, options.dropout)
    model = nn.parallel.DistributedDataParallel(plain) if dist.is_initialized() else plain
    optimiser = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=options.momentum,
                                weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, options.epochs)

    checkpoint = pathlib.Path(os.environ.get("RUNNEL_CHECKPOINT_DIR", ".")) / "state.pt"
    first = 0
    if os.environ.get("RUNNEL_RESUME_FROM") and checkpoint.exists():
        saved = torch.load(checkpoint)
        plain.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        schedule.load_state_dict(saved["schedule"])
        first = saved["epoch"]
        print(f"rank {rank} goes on after epoch {first}", flush=True)

    training, held_back = data(options.fraction)
    for epoch in range(first, options.epochs):
        loss = run_epoch(model, optimiser, schedule, training, epoch, options.batch)
        if rank != 0:
            continue
        accuracy = accuracy_of(plain, held_back)
        with runnel.saving():  # A search that pauses the trial asks for its end just after the report.
            # First the report: killed before it has saved, it does the epoch again and reports it again.
            runnel.report(step=epoch + 1, loss=loss, accuracy=accuracy)
            save(checkpoint, epoch=epoch + 1, model=plain.state_dict(), optimiser=optimiser.state_dict(),
                 schedule=schedule.state_dict())
        print(f"epoch {epoch + 1} loss {loss:.4f} accuracy {accuracy:.4f}", flush=True)

    if rank == 0 and options.out:
        save(options.out, model=plain.state_dict(), width=options.width, dropout=options.dropout)
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
