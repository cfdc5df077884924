"""Fashion-MNIST as arrays, and the network that the steps share."""

import gzip
import os
import pathlib
import struct

import numpy
from torch import nn

SOURCE = pathlib.Path("/usr/share/datasets/fashion-mnist")  # Of the Debian package dataset-fashion-mnist.
SHARED = pathlib.Path(os.environ.get("RUNNEL_JOB_DIR", "."))  # Handed from step to step.
CLASSES = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Boot"]


def raw(name):
    """The array of an IDX file (http://yann.lecun.com/exdb/mnist)."""
    path = SOURCE / name
    if not path.exists():
        raise SystemExit(f"{path} is missing: install the package dataset-fashion-mnist")
    with gzip.open(path) as file:
        dimensions = struct.unpack(">4B", file.read(4))[3]
        shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
        return numpy.frombuffer(file.read(), dtype=numpy.uint8).reshape(shape)


def network(width, dropout):
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, width), nn.ReLU(), nn.Dropout(dropout),
        nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, len(CLASSES)))
