"""Normalises the images once for all steps, and leaves them in the job's shared folder."""

import numpy
from fashion import SHARED, raw


def main():
    train = raw("train-images-idx3-ubyte.gz").astype(numpy.float32) / 255.0
    mean, spread = train.mean(), train.std()
    for split, prefix in (("train", "train"), ("test", "t10k")):
        images = raw(f"{prefix}-images-idx3-ubyte.gz").astype(numpy.float32) / 255.0
        numpy.save(SHARED / f"{split}-images.npy", ((images - mean) / spread)[:, None])
        numpy.save(SHARED / f"{split}-labels.npy", raw(f"{prefix}-labels-idx1-ubyte.gz").astype(numpy.int64))
        print(f"{split}: {len(images)} images")


if __name__ == "__main__":
    main()
