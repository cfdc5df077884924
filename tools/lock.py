"""Writes python/requirements.lock from python/requirements.in: every package with its version and hash.

usage: .venv/bin/python tools/lock.py        (asks the package index; run it to move to new versions)
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = ROOT / "python" / "requirements.in"
LOCK = ROOT / "python" / "requirements.lock"


def lock_text(report: dict) -> str:
    """Pins of an installation report of pip, sorted by name."""
    pins = []
    for item in report["install"]:
        name = item["metadata"]["name"].lower().replace("_", "-")
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        pins.append(f"{name}=={item['metadata']['version']} \\\n    --hash=sha256:{digest}\n")
    header = "# Written by tools/lock.py from requirements.in for CPython 3.11 on Linux x86-64.\n"
    return header + "".join(sorted(pins))


def main() -> int:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
    command += ["--disable-pip-version-check", "--report", "-", "-r", str(WANTED)]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    LOCK.write_text(lock_text(report), encoding="utf-8")
    print(f"lock: {len(report['install'])} packages in {LOCK.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
