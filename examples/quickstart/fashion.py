"""Fashion-MNIST as arrays, and the network that the steps share."""

import gzip
import os
import pathlib
import struct

import numpy
from torch import nn

SOURCE = pathlib.Path(os.environ.get("RUNNEL_VOLUME_DATA", "/usr/share/datasets/fashion-mnist"))
SHARED = pathlib.Path(os.environ.get("RUNNEL_JOB_DIR", "."))  # Handed from step to step.
CLASSES = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Boot"]


def raw(name):
    """The array of an IDX file (http://yann.lecun.com/exdb/mnist)."""
    path = SOURCE / name
    if not path.exists():
        raise SystemExit(f"{path} is missing: put what the package dataset-fashion-mnist has into the volume")
    with gzip.open(path) as file:
        dimensions = struct.unpack(">4B", file.read(4))[3]
        shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
        return numpy.frombuffer(file.read(), dtype=numpy.uint8).reshape(shape)


def network(width, dropout):
    """Two convolutions of `width` and twice as many channels, then two layers; images are 1 x 28 x 28."""
    return nn.Sequential(
        nn.Conv2d(1, width, 5, stride=2, padding=2), nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Dropout(dropout), nn.Linear(2 * width * 7 * 7, 128), nn.ReLU(),
        nn.Linear(128, len(CLASSES)))
