"""Writes text files of words that are drawn like those of a language: few of them often, many of them rarely."""

import argparse
import os
import pathlib
import random

FILES_PER_FOLDER = 1_000
WORDS = 400


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, required=True)
    given = parser.parse_args()
    source = pathlib.Path(os.environ["RUNNEL_JOB_DIR"], "text")
    numbers = random.Random(1)
    vocabulary = ["".join(numbers.choices("abcdefghijklmnopqrstuvwxyz", k=numbers.randint(2, 10))) for _ in range(5_000)]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    pages = [" ".join(numbers.choices(vocabulary, weights, k=WORDS)).capitalize() + ".\n" for _ in range(512)]
    for number in range(given.files):
        folder = source / f"{number // FILES_PER_FOLDER:03}"
        if number % FILES_PER_FOLDER == 0:
            folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:06}.txt").write_text(f"Page {number}. {pages[numbers.randrange(len(pages))]}")
    print(f"{given.files} files")


if __name__ == "__main__":
    main()
