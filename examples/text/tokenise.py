"""Turns every so-many-th file into token numbers; the shard appears whole or not at all."""

import argparse
import array
import os
import pathlib
import re
import zlib

VOCABULARY = 50_000
TOKEN = re.compile(r"[a-z]+|[0-9]|[^\sa-z0-9]")


def tokens(text):
    return [zlib.crc32(token.encode()) % VOCABULARY for token in TOKEN.findall(text.lower())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    given = parser.parse_args()
    shared = pathlib.Path(os.environ["RUNNEL_JOB_DIR"])
    files = sorted((shared / "text").glob("*/*.txt"))[given.shard::given.shards]
    ids = array.array("I")
    for file in files:
        found = tokens(file.read_text())
        ids.append(len(found))
        ids.extend(found)
    partial = shared / f"tokens-{given.shard}.partial"
    partial.write_bytes(ids.tobytes())
    partial.rename(shared / f"tokens-{given.shard}.bin")
    print(f"shard {given.shard}: {len(files)} files, {len(ids) - len(files)} tokens")


if __name__ == "__main__":
    main()
