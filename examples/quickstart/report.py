"""Puts the predictions together and says how good they are: each test image exactly once."""

import numpy
from fashion import CLASSES, SHARED


def main():
    labels = numpy.load(SHARED / "test-labels.npy")
    numbers, classes = numpy.concatenate(
        [numpy.load(path) for path in sorted(SHARED.glob("predicted-?.npy"))], axis=1)
    if sorted(numbers) != list(range(len(labels))):
        raise SystemExit(f"{len(numbers)} predictions for {len(labels)} images: some are missing or doubled")
    right = classes == labels[numbers]
    print(f"{'class':10} accuracy")
    for number, name in enumerate(CLASSES):
        print(f"{name:10} {right[labels[numbers] == number].mean():.4f}")
    print(f"{'all':10} {right.mean():.4f} over {len(numbers)} test images, each predicted once")


if __name__ == "__main__":
    main()
