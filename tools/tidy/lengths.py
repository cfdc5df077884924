"""The table of lengths per module, its targets, and the ratchet for modules that are over them."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from . import blocks, layers
from .repository import Repository
from .source import Source, Violation

RATCHET = "tools/tidy/ratchet.json"

FILE_LINES_MAX = 1000
FUNCTION_LINES_MAX = 150
LONG_FUNCTION = 70

# Metric -> (target, whether more is better). A module past a target may shrink, never grow.
TARGETS = {
    "file_median": (150, False),
    "function_median": (6, False),
    "function_p90": (25, False),
    "function_p99": (80, False),
    "over_70": (2.0, False),
    "tests": (1.0, True),
    "todo": (0.3, False),
    "checks": (10.0, True),
}
# A median over few files or functions says nothing yet.
SMALL_MODULE_LINES = 300

_CHECK = re.compile(r"\b(?:CHECK\w*|MUST|ALWAYS|NEVER|UNREACHABLE)\s*\(")
_TODO = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")


@dataclass
class Row:
    name: str
    lines: int
    files: int
    test_lines: int
    file_lengths: list[int]
    function_lengths: list[int]
    todo_count: int
    check_count: int

    @property
    def metrics(self) -> dict[str, float]:
        functions = self.function_lengths or [0]
        kilo = max(self.lines, 1) / 1000
        return {
            "file_median": median(self.file_lengths or [0]),
            "function_median": median(functions),
            "function_p90": percentile(functions, 90),
            "function_p99": percentile(functions, 99),
            "over_70": round(100 * sum(n > LONG_FUNCTION for n in functions) / len(functions), 1),
            "tests": round(self.test_lines / max(self.lines, 1), 2),
            "todo": round(self.todo_count / kilo, 1),
            "checks": round(self.check_count / kilo, 1),
        }


def percentile(values: list[int], percent: int) -> int:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def function_lengths(source: Source) -> list[tuple[int, int]]:
    """First line and number of lines of each function."""
    found = []
    for block in blocks.functions(source):
        first = source.line_at(block.head)
        found.append((first, source.line_at(block.body_end) - first + 1))
    return found


def measure(name: str, sources: list[Source]) -> Row:
    production = [source for source in sources if source.is_production]
    tests = [source for source in sources if source.is_test]
    return Row(
        name=name,
        lines=sum(len(source.lines) for source in production),
        files=len(production),
        test_lines=sum(len(source.lines) for source in tests),
        file_lengths=[len(source.lines) for source in production],
        function_lengths=[n for source in production for _, n in function_lengths(source)],
        todo_count=sum(len(_TODO.findall(text)) for source in production for _, text in source.comments),
        check_count=sum(len(_CHECK.findall(source.statements)) for source in production),
    )


def rows(repository: Repository) -> list[Row]:
    by_module: dict[str, list[Source]] = {}
    for source in repository.sources:
        if source.module:
            by_module.setdefault(source.module, []).append(source)
    order = [name for name in repository.modules if name in by_module]
    found = [measure(name, by_module[name]) for name in order]
    everything = [source for name in order for source in by_module[name]]
    return [*found, measure("total", everything)] if found else []


def table(repository: Repository) -> str:
    """The columns of the anchors, so that we stand beside them."""
    head = ("module", "kLOC / files", "file median (max)", "function median/p90/p99 (max)", "over 70",
            "tests/prod", "TODO/kLOC", "CHECKs/kLOC", "cycle")
    cycles = layers.folder_cycles(repository)
    lines = [head]
    for row in rows(repository):
        values = row.metrics
        in_cycle = sum(len(group) for group in cycles if row.name == "total" or row.name in group)
        lines.append((
            row.name,
            f"{row.lines / 1000:.1f} / {row.files}",
            f"{values['file_median']:g} ({max(row.file_lengths, default=0)})",
            f"{values['function_median']:g}/{values['function_p90']}/{values['function_p99']}"
            f" ({max(row.function_lengths, default=0)})",
            f"{values['over_70']:g} %",
            f"{values['tests']:.2f}",
            f"{values['todo']:g}",
            f"{values['checks']:g}",
            str(in_cycle),
        ))
    lines.append(("target", "", "<= 150 (1000)", "6/25/80 (150)", "<= 2 %", ">= 1", "<= 0.3", ">= 10", "0"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def check_maxima(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        if not source.module:
            continue
        if len(source.lines) > FILE_LINES_MAX:
            yield Violation(source.path, FILE_LINES_MAX, "length",
                            f"{len(source.lines)} lines; no file has more than {FILE_LINES_MAX}")
        if source.is_test:
            continue
        for line, length in function_lengths(source):
            if length > FUNCTION_LINES_MAX:
                yield Violation(source.path, line, "length",
                                f"a function of {length} lines; none has more than {FUNCTION_LINES_MAX}")


def past_target(row: Row) -> dict[str, float]:
    small = row.lines < SMALL_MODULE_LINES
    found = {}
    for metric, value in row.metrics.items():
        target, more_is_better = TARGETS[metric]
        if (value < target if more_is_better else value > target) and not small:
            found[metric] = value
    return found


def read_ratchet(repository: Repository) -> dict[str, dict[str, float]]:
    text = repository.text(RATCHET)
    return json.loads(text) if text else {}


def check_ratchet(repository: Repository) -> Iterable[Violation]:
    allowed = read_ratchet(repository)
    for row in rows(repository):
        if row.name == "total":
            continue
        for metric, value in past_target(row).items():
            target, more_is_better = TARGETS[metric]
            limit = allowed.get(row.name, {}).get(metric, target)
            if value < limit if more_is_better else value > limit:
                yield Violation(f"src/{row.name}", 1, "ratchet",
                                f"{metric} is {value:g}; the target is {target:g}, what the ratchet allows is "
                                f"{limit:g}. A module past a target may shrink, never grow.")


def shrunk_ratchet(repository: Repository, accept: tuple[str, ...] = ()) -> dict[str, dict[str, float]]:
    """The ratchet with what got better; modules named in `accept` are written down as they are."""
    before = read_ratchet(repository)
    after: dict[str, dict[str, float]] = {}
    for row in rows(repository):
        for metric, value in past_target(row).items():
            _, more_is_better = TARGETS[metric]
            old = before.get(row.name, {}).get(metric)
            if row.name in accept:
                kept = value
            elif old is None:
                continue
            else:
                kept = max(old, value) if more_is_better else min(old, value)
            after.setdefault(row.name, {})[metric] = kept
    return after


CHECKS = (check_maxima, check_ratchet)
