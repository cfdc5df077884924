"""Checks the layout of all C++ sources with clang-format-19, or writes it with --fix.

usage: /usr/bin/python3 tools/format.py [--fix] [files...]
"""

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "bench", "fuzz", "test", "cmake")
FORMATTER = "clang-format-19"
FILES_PER_CALL = 24


def sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    return sorted(path for path in found if path.suffix in (".cc", ".h"))


def run(files: list[Path], fix: bool) -> subprocess.CompletedProcess:
    mode = ["-i"] if fix else ["--dry-run", "-Werror"]
    command = [FORMATTER, "--style=file", *mode, *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="write the layout instead of checking it")
    parser.add_argument("files", nargs="*", type=Path, help="default: every source")
    options = parser.parse_args()
    files = [path.resolve() for path in options.files] or sources()
    groups = [files[i : i + FILES_PER_CALL] for i in range(0, len(files), FILES_PER_CALL)]
    with ThreadPoolExecutor(cpu_count()) as pool:
        results = list(pool.map(lambda group: run(group, options.fix), groups))
    report = "".join(result.stderr for result in results).replace(f"{ROOT}/", "")
    wrong = sorted({line.split(":")[0] for line in report.splitlines() if "error:" in line})
    if any(result.returncode for result in results):
        print(report if not wrong else "\n".join(f"{name}: not laid out" for name in wrong))
        print(f"format: {len(wrong)} of {len(files)} files differ; `make format` lays them out")
        return 1
    print(f"format: {len(files)} files {'laid out' if options.fix else 'are laid out'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
