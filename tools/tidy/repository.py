"""The files of the repository and the table of modules."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .source import Source

CODE_FOLDERS = ("src", "bench", "fuzz", "test", "cmake")
_ROW = re.compile(r"^runnel_module\((\w+)\s+(\d+)\s+EDGES([^)]*)\)", re.MULTILINE)


@dataclass(frozen=True)
class Module:
    name: str
    level: int
    edges: tuple[str, ...]
    pure: bool


def parse_modules(text: str) -> dict[str, Module]:
    modules = {}
    for name, level, words in _ROW.findall(text):
        edges = [word for word in words.split() if word != "PURE"]
        modules[name] = Module(name, int(level), tuple(edges), "PURE" in words.split())
    return modules


class Repository:
    def __init__(self, root: Path):
        self.root = root

    @cached_property
    def modules(self) -> dict[str, Module]:
        return parse_modules((self.root / "cmake" / "modules.cmake").read_text(encoding="utf-8"))

    @cached_property
    def sources(self) -> list[Source]:
        paths = [
            path
            for folder in CODE_FOLDERS
            for path in (self.root / folder).rglob("*")
            if path.suffix in (".cc", ".h") and path.is_file()
        ]
        return [Source.read(self.root, path) for path in sorted(paths)]

    @cached_property
    def by_include(self) -> dict[str, Source]:
        """A source by the path that includes it: "sched/plan.h"."""
        return {source.path.removeprefix("src/"): source for source in self.sources}

    @cached_property
    def folders(self) -> list[str]:
        src = self.root / "src"
        return sorted(path.name for path in src.iterdir() if path.is_dir()) if src.is_dir() else []

    def is_pure(self, source: Source) -> bool:
        module = self.modules.get(source.module)
        return bool(module and module.pure)

    def text(self, path: str) -> str | None:
        file = self.root / path
        return file.read_text(encoding="utf-8") if file.is_file() else None
