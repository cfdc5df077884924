"""Checks that every file is in the shards once, and prints what identifies the result."""

import argparse
import array
import hashlib
import os
import pathlib


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--files", type=int, required=True)
    given = parser.parse_args()
    shared = pathlib.Path(os.environ["RUNNEL_JOB_DIR"])
    digest = hashlib.sha256()
    files = tokens = 0
    for shard in range(given.shards):
        data = (shared / f"tokens-{shard}.bin").read_bytes()
        digest.update(data)
        ids = array.array("I", data)
        at = 0
        while at < len(ids):
            files += 1
            tokens += ids[at]
            at += ids[at] + 1
    if files != given.files:
        raise SystemExit(f"{files} files in the shards, and {given.files} were made")
    print(f"{files} files, {tokens} tokens, digest {digest.hexdigest()[:16]}")


if __name__ == "__main__":
    main()
