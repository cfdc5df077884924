"""Writes the lock of each python/*.in: every package with its version and hash.

usage: .venv/bin/python tools/lock.py        (asks the package index; run it to move to new versions)
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = sorted((ROOT / "python").glob("*.in"))


def lock_text(report: dict, source: str) -> str:
    """Pins of an installation report of pip, sorted by name."""
    pins = []
    for item in report["install"]:
        name = item["metadata"]["name"].lower().replace("_", "-")
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        pins.append(f"{name}=={item['metadata']['version']} \\\n    --hash=sha256:{digest}\n")
    header = f"# Written by tools/lock.py from {source} for CPython 3.11 on Linux x86-64.\n"
    return header + "".join(sorted(pins))


def main() -> int:
    for wanted in WANTED:
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        command += ["--disable-pip-version-check", "--report", "-", "-r", str(wanted)]
        report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        lock = wanted.with_suffix(".lock")
        lock.write_text(lock_text(report, wanted.name), encoding="utf-8")
        print(f"lock: {len(report['install'])} packages in {lock.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
