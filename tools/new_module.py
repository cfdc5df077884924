#!/usr/bin/python3
"""Makes the skeleton of a module: its first three files, its row and its line, all passing tidy.

usage: tools/new_module.py NAME --level N --edges base model [--pure] --purpose "one line"
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.tidy.repository import Module, parse_modules  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent

HEADER = """#pragma once

#include <string_view>

namespace runnel::{name} {{

// {purpose}
std::string_view purpose();

}}  // namespace runnel::{name}
"""

SOURCE = """#include "{name}/purpose.h"

namespace runnel::{name} {{

std::string_view purpose() {{ return "{purpose}"; }}

}}  // namespace runnel::{name}
"""

TEST = """#include "{name}/purpose.h"

#include <gtest/gtest.h>

namespace runnel::{name} {{
namespace {{

TEST(Purpose, IsStated) {{ EXPECT_FALSE(purpose().empty()); }}

}}  // namespace
}}  // namespace runnel::{name}
"""


class Refused(Exception):
    """The request cannot be carried out; the message says what to change."""


def row(module: Module) -> str:
    words = ["EDGES", *module.edges] + (["PURE"] if module.pure else [])
    return f"runnel_module({module.name:<7} {module.level} {' '.join(words)})"


def with_row(table: str, module: Module) -> str:
    """The table with the new row behind the last row of its level or below."""
    modules = parse_modules(table)
    if module.name in modules:
        raise Refused(f"cmake/modules.cmake has a row for {module.name} already")
    for edge in module.edges:
        if edge not in modules:
            raise Refused(f"edge {edge}: there is no such module")
        if modules[edge].level >= module.level:
            raise Refused(f"edge {edge} is of level {modules[edge].level}: edges lead strictly down")
    lines = table.splitlines()
    levels = [(index, re.match(r"runnel_module\(\w+\s+(\d+)", line)) for index, line in enumerate(lines)]
    last = max(index for index, match in levels if match and int(match[1]) <= module.level)
    return "\n".join([*lines[: last + 1], row(module), *lines[last + 1 :]]) + "\n"


def create(root: Path, module: Module, purpose: str) -> list[str]:
    if not re.fullmatch(r"[a-z][a-z0-9]*", module.name):
        raise Refused(f"'{module.name}': a module is called by one lower-case word")
    table = root / "cmake" / "modules.cmake"
    architecture = root / "ARCHITECTURE.md"
    folder = root / "src" / module.name
    if folder.exists():
        raise Refused(f"src/{module.name} exists already")
    table_text = with_row(table.read_text(encoding="utf-8"), module)
    text = architecture.read_text(encoding="utf-8") if architecture.is_file() else "# Architecture\n\n"

    folder.mkdir(parents=True)
    for name, template in (("purpose.h", HEADER), ("purpose.cc", SOURCE), ("purpose_test.cc", TEST)):
        (folder / name).write_text(template.format(name=module.name, purpose=purpose), encoding="utf-8")
    table.write_text(table_text, encoding="utf-8")
    architecture.write_text(f"{text.rstrip()}\n- `{module.name}`: {purpose}\n", encoding="utf-8")
    return [f"src/{module.name}/purpose{end}" for end in (".h", ".cc", "_test.cc")] + [
        "cmake/modules.cmake", "ARCHITECTURE.md (move the line to its place)"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--level", type=int, required=True)
    parser.add_argument("--edges", nargs="+", default=["base"], metavar="MODULE")
    parser.add_argument("--pure", action="store_true", help="decides and never acts; GCC builds it too")
    parser.add_argument("--purpose", required=True, help="one line, for the header and ARCHITECTURE.md")
    options = parser.parse_args()
    module = Module(options.name, options.level, tuple(options.edges), options.pure)
    try:
        written = create(ROOT, module, options.purpose)
    except Refused as refusal:
        print(f"new_module: {refusal}", file=sys.stderr)
        return 2
    print("\n".join(f"wrote {name}" for name in written))
    return 0


if __name__ == "__main__":
    sys.exit(main())
