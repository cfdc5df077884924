"""`make test`: every stage that must hold, each timed, and a table at the end.

usage: /usr/bin/python3 tools/test.py [--only a,b] [--skip a,b] [--list]

A stage that fails does not stop the others, so one run shows all failures. The output of a stage goes
to build/logs/<stage>.log and, when the stage fails, its end to the screen. The last two lines are
ctest's and pytest's own summaries.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
SYSTEM_PYTHON = "/usr/bin/python3"
PYTHON = ".venv/bin/python"
JOBS = str(os.cpu_count())
# The tests of the agent wait more than they compute.
UNIT_JOBS = str(2 * (os.cpu_count() or 1))
# End-to-end tests wait more than they compute; each has a home of its own. One by one, since some take a minute.
E2E_JOBS = ["-n", str(4 * (os.cpu_count() or 1)), "--maxschedchunk", "1"]
E2E_BYTES = 8 << 30  # Those of all tests that run at a time take 2 GB; that much more may be somebody else's.
TAIL_LINES = 120

FUZZ_SECONDS = 5
SIM_SCHEDULES = 12000
VOLUME_SCHEDULES = 1500
SIM_LOGS = 300

SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    # Tests fork a child that is killed at some step of the agent; threads of the parent may not have ended by then.
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:die_after_fork=0",
    "ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-19",
    "TSAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-19",
}

# Tests of a statistic or of a great number; their smaller neighbours run the same code.
NOTHING_NEW_FOR_ASAN = [
    "*.FindsMoreThanChanceDoes/*", "LogReaderTest.ReadsAHundredThousandShortAttempts",
    "LogWriterTest.RefusesUsersAndKeepsReportsWhenTooManyWaitForTheDisk", "LogWriterTest.ADueSnapshotIsCopiedBesideTheLoop",
    "World.PoisonAloneHoldsToTheBound", "World.AHandThatKillsRunnersAccusesNobody",
    "World.KeepsEveryPromiseOverTheFirstSeeds", "World.GoesWhereNotEveryJobDoes", "Wire.AFlippedLetterIsNeverTakenForTheSameMessage",
    "RunnerTest.TellsMoreLongReportsThanFitAFrame", "RunnerTest.KeepsUpWithManyShortAttempts",
    "WarmUpTest.RefusesWhatLiesInMorePlacesThanTheCacheHas", "WarmUpTest.WhatComesTakesThePlaceOfNothingThatIsWanted",
    "TarTest.NoChangedByteOfADumpIsTakenForTheVersion", "KilledAtEachStep.*",
    "GpSampler.SuggestsTheSameFromHalfAFitAndGoesOnLearning", "Pruner.PromotesByTheDefinition",
    "Pruner.ToldAgainJudgesTheSame", "Plan.EqualsItsDefinitionOnRandomClusters",
    "OneJudgement.AFileAndASubmissionAreRefusedForTheSame", "MetricsFileTest.AFileOfAnySizeComesInPieces",
    "Search/EverySampler.ToldEverythingAgainSuggestsTheSame/*", "DiskCacheTest.HasNeverMoreThanItMay",
    "OverlayModelTest.*", "WriteLogTest.ACheckpointIsWholeOrNone", "BranchSchedule.KeepsItsPromises",
    "FilesSchedule.KeepsItsPromises", "BranchFilesTest.AreAsAFolderOfThisMachineUnderTheSameCalls",
]


@dataclass
class Stage:
    """`commands` is called when the stage begins, since it may depend on what was built before."""

    name: str
    budget_s: int
    commands: Callable[[], list[list[str]]]
    env: dict[str, str] = field(default_factory=dict)
    skipped: str = ""  # Why there is nothing to do, when `commands` is empty.


@dataclass
class Outcome:
    stage: Stage
    seconds: float
    failed: bool
    note: str
    log: str


def fixed(*commands: list[str]) -> Callable[[], list[list[str]]]:
    return lambda: list(commands)


def build(preset: str, *targets: str) -> list[list[str]]:
    command = ["cmake", "--build", "--preset", preset, "-j", JOBS]
    return [["cmake", "--preset", preset], command + (["--target", *targets] if targets else [])]


def ctest(preset: str, jobs: str = JOBS) -> list[str]:
    return ["ctest", "--preset", preset, "-j", jobs, "--no-tests=error"]


def when_present(path: str, command: list[str]) -> Callable[[], list[list[str]]]:
    return lambda: [command] if (ROOT / path).exists() else []


def fuzz_commands() -> list[list[str]]:
    """Each fuzzer for a few seconds, from its seeds when there are some, into a scratch corpus."""
    found = []
    for binary in sorted((ROOT / "build" / "asan" / "fuzz").glob("*_fuzz")):
        corpus = ROOT / "build" / "asan" / "corpus" / binary.name
        corpus.mkdir(parents=True, exist_ok=True)
        seeds = ROOT / "fuzz" / "corpus" / binary.name
        command = [str(binary), f"-max_total_time={FUZZ_SECONDS}", "-timeout=10", "-rss_limit_mb=2048",
                   "-print_final_stats=0", "-verbosity=0", f"-artifact_prefix={corpus.parent}/", str(corpus)]
        found.append(command + ([str(seeds)] if seeds.is_dir() else []))
    return found


def pytest(folder: str, *options: str) -> Callable[[], list[list[str]]]:
    def commands() -> list[list[str]]:
        present = any((ROOT / folder).rglob("test_*.py"))
        return [[PYTHON, "-m", "pytest", *options, folder]] if present else []

    return commands


def end_to_end() -> list[list[str]]:
    """Homes lie in memory where there is room: kills lose nothing of either, and a disk takes minutes to remove them."""
    place = Path("/dev/shm")
    if not place.is_dir() or shutil.disk_usage(place).free < E2E_BYTES:
        return pytest("test/e2e", *E2E_JOBS)()
    homes = place / f"runnel-e2e-{os.getpid()}"
    tests = pytest("test/e2e", *E2E_JOBS, f"--basetemp={homes}")()
    return [*tests, ["rm", "-rf", str(homes)]] if tests else []


def campaign() -> list[list[str]]:
    counts = {"sim_campaign": SIM_SCHEDULES, "volume_sim_campaign": VOLUME_SCHEDULES}
    binaries = {ROOT / "build" / "release" / "bin" / name: count for name, count in counts.items()}
    return [[str(binary), "--schedules", str(count), "--jobs", JOBS] for binary, count in binaries.items()
            if binary.exists()]


def asan() -> list[list[str]]:
    """All unit tests, the simulator and the whole product, under ASan and UBSan."""
    campaign = ["build/asan/bin/sim_campaign", "--schedules", "100", "--jobs", JOBS]
    product = ["env", "RUNNEL_BINARY=build/asan/bin/runnel", PYTHON, "-m", "pytest", *E2E_JOBS, "test/e2e/test_run.py",
               "-k", "not no_line_is_torn"]  # Much output at this speed is a minute, and nothing new.
    unit = ["env", f"GTEST_FILTER=-{':'.join(NOTHING_NEW_FOR_ASAN)}", *ctest("asan", UNIT_JOBS)]
    return [*build("asan"), unit, campaign, product]


def gcc() -> list[list[str]]:
    """The pure modules, and that they decide again what the simulator's logs say that clang's decided."""
    again = f"build/release/bin/sim_campaign --logs {SIM_LOGS} | build/gcc/bin/brain_again"
    return [*build("gcc"), ctest("gcc"), ["sh", "-c", again]]


STAGES = [
    Stage("setup", 240, fixed(["tools/setup.sh", "--tests"])),
    Stage("format", 5, fixed([SYSTEM_PYTHON, "tools/format.py"])),
    Stage("tidy", 10, fixed([SYSTEM_PYTHON, "-m", "tools.tidy"])),
    Stage("tools", 10, pytest("tools/tests")),
    Stage("build", 395, lambda: build("release")),
    Stage("link", 10, lambda: build("release", "link_tests")),
    Stage("unit", 50, lambda: [ctest("release", UNIT_JOBS)]),
    Stage("e2e", 200, end_to_end, skipped="no test/e2e/test_*.py"),
    Stage("sim", 60, campaign, skipped="no sim_campaign"),
    Stage("clang-tidy", 440, fixed([SYSTEM_PYTHON, "tools/clang_tidy.py"])),
    Stage("gcc", 150, gcc),
    Stage("asan", 570, asan, env=SANITIZER_ENV),
    # Without the runner: it has one thread, and ThreadSanitizer makes a fork of each vfork, so that a child is not
    # yet what its parent believes.
    Stage("tsan", 300, lambda: [*build("tsan"), ctest("tsan")], env=SANITIZER_ENV),
    Stage("fuzz", 50, fuzz_commands, env=SANITIZER_ENV, skipped="no fuzzers"),
]


def run_command(command: list[str], env: dict[str, str], log) -> int:
    log.write(f"$ {' '.join(command)}\n")
    log.flush()
    try:
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                              stdout=log, stderr=subprocess.STDOUT)
    except OSError as error:
        log.write(f"{command[0]}: {error.strerror}\n")
        return 127
    return done.returncode


def run_stage(stage: Stage) -> Outcome:
    path = LOGS / f"{stage.name}.log"
    started = time.monotonic()
    commands = stage.commands()
    failed = False
    with path.open("w", encoding="utf-8") as log:
        for command in commands:
            # A fuzzer that fails must not hide the next one; everything else builds on what went before.
            failed = run_command(command, stage.env, log) != 0 or failed
            if failed and stage.name != "fuzz":
                break
    text = path.read_text(encoding="utf-8", errors="replace")
    note = "" if commands else stage.skipped
    return Outcome(stage, time.monotonic() - started, failed, note, text)


def report(outcome: Outcome) -> None:
    state = "FAILED" if outcome.failed else outcome.note or "ok"
    if outcome.failed:
        print("\n".join(outcome.log.splitlines()[-TAIL_LINES:]))
    elif outcome.stage.name == "tidy":
        print(outcome.log)
    print(f"-- {outcome.stage.name}: {state}, {outcome.seconds:.1f} s", flush=True)


def table(outcomes: list[Outcome]) -> str:
    lines = ["", f"{'stage':<12} {'seconds':>8} {'budget':>7}  result"]
    for outcome in outcomes:
        result = "FAILED" if outcome.failed else outcome.note or "ok"
        if outcome.seconds > outcome.stage.budget_s:
            result += " (over its budget)"
        lines.append(f"{outcome.stage.name:<12} {outcome.seconds:>8.1f} {outcome.stage.budget_s:>7}  {result}")
    total = sum(outcome.seconds for outcome in outcomes)
    budget = sum(outcome.stage.budget_s for outcome in outcomes)
    lines.append(f"{'total':<12} {total:>8.1f} {budget:>7}  {total / 60:.1f} min")
    return "\n".join(lines)


def last_match(outcomes: list[Outcome], names: tuple[str, ...], pattern: str) -> str | None:
    """The last line that matches, of the first named stage that ran."""
    for name in names:
        for outcome in outcomes:
            found = re.findall(pattern, outcome.log, re.MULTILINE) if outcome.stage.name == name else []
            if found:
                return found[-1]
    return None


def summaries(outcomes: list[Outcome]) -> list[str]:
    ctest_line = last_match(outcomes, ("unit",), r"^\d+% tests passed, .*$")
    pytest_line = last_match(outcomes, ("e2e", "tools"), r"^=*\s*\d+ (?:passed|failed|error).* in .*$")
    return [line for line in (ctest_line, pytest_line) if line]


def chosen(only: str, skip: str) -> list[Stage]:
    names = [stage.name for stage in STAGES]
    for name in filter(None, f"{only},{skip}".split(",")):
        if name not in names:
            sys.exit(f"test: no stage '{name}'; the stages are {', '.join(names)}")
    wanted = only.split(",") if only else names
    return [stage for stage in STAGES if stage.name in wanted and stage.name not in skip.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="run these stages, in their order")
    parser.add_argument("--skip", default="", help="leave these stages out")
    parser.add_argument("--list", action="store_true", help="print the stages and their budgets")
    options = parser.parse_args()
    stages = chosen(options.only, options.skip)
    if options.list:
        print("\n".join(f"{stage.name:<12} {stage.budget_s:>4} s" for stage in stages))
        return 0

    LOGS.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for stage in stages:
        print(f"-- {stage.name} ...", flush=True)
        outcomes.append(run_stage(stage))
        report(outcomes[-1])
        if stage.name == "setup" and outcomes[-1].failed:
            break  # Nothing else can work.
    failed = [outcome.stage.name for outcome in outcomes if outcome.failed]
    print(table(outcomes))
    print(f"FAILED: {', '.join(failed)} (build/logs/)" if failed else "every stage holds")
    print("\n".join(summaries(outcomes)), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
