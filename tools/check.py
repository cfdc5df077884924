"""`make check`: what a change touches, in about five minutes once everything has been built before.

usage: /usr/bin/python3 tools/check.py [--since COMMIT]

A change is what differs from COMMIT: by default the last commit, or, when nothing has been edited since, the one
before it. Layout and tidy look at everything. Unit tests are run of the modules that the change touches and of those
that stand on them; end-to-end tests where a test or one of the modules that make the product's processes is touched;
300 simulated seeds twice, and two planted bugs, each day others, where the simulated code is. `make test` runs the rest.
"""

import argparse
import datetime
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.test import E2E_JOBS, JOBS, PYTHON, SYSTEM_PYTHON, UNIT_JOBS  # noqa: E402

SEEDS = 300
BUGS_A_DAY = 2
# Tests that go once through everything that a user starts with.
SMOKE = ["test/e2e/test_run.py", "test/e2e/test_crash.py"]


def git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return done.stdout.splitlines()


def changed_files(since: str) -> list[str]:
    edited = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    if since:
        return sorted(set(edited + git("diff", "--name-only", since)))
    return sorted(set(edited)) or git("diff", "--name-only", "HEAD~1")


def module_edges() -> dict[str, list[str]]:
    table = (ROOT / "cmake" / "modules.cmake").read_text(encoding="utf-8")
    rows = re.findall(r"^runnel_module\((\w+) +\d+ EDGES ?([^)]*)\)", table, re.MULTILINE)
    return {name: [edge for edge in edges.split() if edge != "PURE"] for name, edges in rows}


def touched_modules(files: list[str], edges: dict[str, list[str]]) -> list[str]:
    """Those with a changed file, and, where one of these is a header, all that may include it."""
    if any(name.startswith(("cmake/", "CMake")) for name in files):
        return list(edges)
    touched = {name.split("/")[1] for name in files if name.startswith("src/")}
    headers = {name.split("/")[1] for name in files if name.startswith("src/") and name.endswith(".h")}
    return [name for name, below in edges.items() if name in touched or headers.intersection(below)]


def unit_tests(modules: list[str]) -> list[list[str]]:
    tested = [name for name in modules if any((ROOT / "src" / name).rglob("*_test.cc"))]
    if not tested:
        return []
    labels = f"^({'|'.join(tested)})$"
    return [["cmake", "--build", "--preset", "release", "-j", JOBS, "--target", *(f"{name}_test" for name in tested)],
            ["ctest", "--preset", "release", "-j", UNIT_JOBS, "-L", labels, "--no-tests=error"]]


def end_to_end(files: list[str], modules: list[str]) -> list[list[str]]:
    tests = [name for name in files if re.fullmatch(r"test/e2e/test_\w+\.py", name) and (ROOT / name).exists()]
    whole = any(name.startswith(("test/e2e/", "python/")) and name not in tests for name in files)
    if whole or set(modules) & {"output", "runner", "agent", "home", "cli"}:
        tests = sorted({*tests, *SMOKE})
    if not tests:
        return []
    return [["cmake", "--build", "--preset", "release", "-j", JOBS, "--target", "runnel", "runnel_shared"],
            [PYTHON, "-m", "pytest", "-q", *E2E_JOBS, *tests]]


def bugs_of_today() -> list[str]:
    patches = sorted(str(path) for path in (ROOT / "src" / "sim" / "mutants").glob("*.patch"))
    first = datetime.date.today().toordinal() * BUGS_A_DAY
    return [patches[(first + number) % len(patches)] for number in range(BUGS_A_DAY)]


def simulation(modules: list[str]) -> list[list[str]]:
    if "sim" not in modules:
        return []
    hashes = f"build/release/bin/sim_campaign --hashes {SEEDS}"
    twice = f"{hashes} >build/logs/hashes-1 & {hashes} >build/logs/hashes-2 && wait $! && cmp build/logs/hashes-1 build/logs/hashes-2"
    return [["cmake", "--build", "--preset", "release", "-j", JOBS, "--target", "sim_campaign"],
            ["sh", "-c", twice], ["tools/mutants.sh", *bugs_of_today()]]


def commands(files: list[str]) -> list[list[str]]:
    modules = touched_modules(files, module_edges())
    print(f"check: {len(files)} files; modules: {' '.join(modules) or 'none'}", flush=True)
    found = [[SYSTEM_PYTHON, "tools/format.py"], [SYSTEM_PYTHON, "-m", "tools.tidy"]]
    if any(name.startswith("tools/") or "/mutants/" in name for name in files):
        found.append([PYTHON, "-m", "pytest", "-q", "tools/tests"])
    if modules:
        found.append(["cmake", "--preset", "release"])
    return found + unit_tests(modules) + end_to_end(files, modules) + simulation(modules)


def run(command: list[str], log: Path) -> bool:
    shown = " ".join(command)
    print(f"-- {shown[:100]} ...", flush=True)
    started = time.monotonic()
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        print("\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-60:]))
    print(f"   {'ok' if done.returncode == 0 else 'FAILED'}, {time.monotonic() - started:.1f} s", flush=True)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--since", default="", help="the commit that the change begins after")
    options = parser.parse_args()
    log = ROOT / "build" / "logs" / "check.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    for command in commands(changed_files(options.since)):
        if not run(command, log):
            return 1
    print(f"check: what the change touches holds; {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
