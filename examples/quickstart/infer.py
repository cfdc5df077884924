"""Predicts one shard of the test images; the file appears whole or not at all."""

import argparse

import numpy
import torch
from fashion import SHARED, network


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    options = parser.parse_args()
    saved = torch.load(SHARED / "model.pt")
    model = network(saved["width"], saved["dropout"]).eval()
    model.load_state_dict(saved["model"])
    images = torch.from_numpy(numpy.load(SHARED / "test-images.npy"))
    numbers = numpy.arange(options.shard, len(images), options.shards)
    with torch.no_grad():
        classes = model(images[numbers]).argmax(dim=1).numpy()
    partial = SHARED / f"predicted-{options.shard}.partial.npy"
    numpy.save(partial, numpy.stack([numbers, classes]))
    partial.rename(SHARED / f"predicted-{options.shard}.npy")
    print(f"shard {options.shard}: {len(numbers)} images")


if __name__ == "__main__":
    main()
