"""Says whether this interpreter's packages are exactly those of a lock file. Imports none of them.

usage: python tools/check_lock.py python/requirements.lock
"""

import re
import sys
from importlib import metadata
from pathlib import Path

PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^ \\;]+)", re.MULTILINE)


def differences(lock_text: str) -> list[str]:
    """One sentence for each pin that is not installed as written."""
    found = []
    for name, version in PIN.findall(lock_text):
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            found.append(f"{name} {version} is not installed")
            continue
        if installed.split("+")[0] != version.split("+")[0]:
            found.append(f"{name} is {installed}, the lock file says {version}")
    return found


def main() -> int:
    problems = differences(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for problem in problems:
        print(f"setup: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
