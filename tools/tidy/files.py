"""Names of files, the shape of headers, the order of includes, names that clash in unity builds, and comments that
promise."""

import re
from collections.abc import Iterable

from . import blocks
from .repository import Repository
from .source import Source, Violation

CATCH_ALL = {"util", "utils", "utility", "utilities", "helper", "helpers", "common", "misc", "stuff",
             "shared", "tools", "various", "general", "lib"}
_TODO = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))")
_SNAKE = re.compile(r"^[a-z0-9]+(?:_[a-z0-9]+)*\.(?:cc|h)$")
_NAMESPACE = re.compile(r"^namespace ([\w:]+) \{$", re.MULTILINE)
_ANONYMOUS = re.compile(r"^namespace \{$", re.MULTILINE)
# Code in a namespace is not indented.
_NAMED = re.compile(
    r"^(?:(?:constexpr|const|static)\b[^={(\[]*?\b(k\w+)\s*[={(\[]|(?:class|struct|enum class)\s+(\w+)\b[^;]*?\{)",
    re.MULTILINE)
LINE_MAX = 100


def check_names(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        if not _SNAKE.match(source.name):
            yield Violation(source.path, 1, "name", "file names are snake_case with .h or .cc")
        folders = source.parts[1:-1]
        words = set(source.name.rsplit(".", 1)[0].split("_"))
        for word in sorted((words | set(folders)) & CATCH_ALL):
            yield Violation(source.path, 1, "name",
                            f"'{word}' names no concept: call the file after what it holds")


def check_headers(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        if not source.is_header:
            continue
        first = source.code.lstrip()
        if not first.startswith("#pragma once"):
            yield Violation(source.path, 1, "header", "a header begins with `#pragma once`")
        using = re.search(r"^[ \t]*using\s+namespace\b", source.statements, re.MULTILINE)
        if using:
            yield source.violation(using.start(), "header", "`using namespace` in a header reaches everybody")


def check_include_order(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        if source.is_header or not source.module:
            continue
        path = source.path.removeprefix("src/").removesuffix(".cc")
        own = re.sub(r"_(?:test|fuzz)$", "", path) + ".h"
        if own in repository.by_include and source.includes and source.includes[0].path != own:
            yield Violation(source.path, source.includes[0].line, "include-order",
                            f'the first include is the file\'s own header, "{own}"')


def check_namespaces(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        if not source.is_production or source.is_main:
            continue
        if not re.search(r"\bnamespace\s+runnel\b", source.statements) and source.statements.strip():
            yield Violation(source.path, 1, "namespace", f"the code belongs into runnel::{source.module}")
        elif source.module != "base" and not re.search(
            rf"\bnamespace\s+runnel::{source.module}\b", source.statements
        ):
            yield Violation(source.path, 1, "namespace", f"the namespace is runnel::{source.module}")


def _unity(source: Source) -> str:
    """The part of a module whose files may be compiled as one."""
    if source.name.endswith("_test.cc"):
        return f"tests of {source.module}"
    return f"tests' parts of {source.module}" if source.is_test else source.module


def check_unity(repository: Repository) -> Iterable[Violation]:
    """How many files are compiled as one differs between builds: a clash may show in some of them only."""
    first: dict[tuple[str, str, str], Source] = {}
    for source in repository.sources:
        if source.is_header or source.is_main or not source.module or source.name.endswith("_fuzz.cc"):
            continue
        named = list(_NAMESPACE.finditer(source.statements))
        for opening in _ANONYMOUS.finditer(source.statements):
            end = blocks.matching(source.statements, opening.end() - 1, "{", "}")
            around = [match[1] for match in named if match.start() < opening.start()
                      < blocks.matching(source.statements, match.end() - 1, "{", "}")]
            for match in _NAMED.finditer(source.statements, opening.end(), end):
                name = match[1] or match[2]
                other = first.setdefault((_unity(source), "::".join(around), name), source)
                if other is not source:
                    yield source.violation(match.start(), "unity", f"{name} is defined in {other.path}, too, "
                                           "and the two may be compiled as one file: share it, or rename one")


def check_comments(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        for offset, text in source.comments:
            for match in _TODO.finditer(text):
                yield source.violation(offset + match.start(), "todo",
                                       f"{match.group()} without an issue: do it, or write TODO(#123)")


def check_line_lengths(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        for number, line in enumerate(source.lines, 1):
            if len(line) > LINE_MAX and "://" not in line and not re.search(r"\bR\"", source.raw):
                yield Violation(source.path, number, "line", f"{len(line)} columns; the limit is {LINE_MAX}")


CHECKS = (check_names, check_headers, check_include_order, check_namespaces, check_unity, check_comments,
          check_line_lengths)
