"""One C++ file in the forms that the checks need: as written, and as code without comments and text."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Numbers come before quotes, so that the separator of 1'000 does not open a character literal.
_TOKEN = re.compile(
    r"""
      (?P<number>\b\d(?:'?[\w.])*)
    | (?P<raw>\bR"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<text>"(?:[^"\\\n]|\\.)*")
    | (?P<char>'(?:[^'\\\n]|\\.)+')
    | (?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", re.MULTILINE)
_ALLOW = re.compile(r"tidy: allow\(([\w-]+)\) \S")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _strip(match: re.Match) -> str:
    if match.lastgroup == "number" or match.group("number"):
        return match.group()
    if match.group("comment"):
        return _blank(match.group())
    # The quotes stay, so that an argument is still there to see.
    inner = _blank(match.group())
    return '"' + inner[1:-1] + '"'


@dataclass(frozen=True)
class Include:
    path: str
    line: int
    is_system: bool


@dataclass(frozen=True)
class Violation:
    path: str
    line: int
    check: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [{self.check}] {self.message}"


class Source:
    """Positions in `raw`, `code` and `statements` are the same, so a match in one gives a line of all."""

    def __init__(self, path: str, raw: str):
        self.path = path
        self.raw = raw

    @classmethod
    def read(cls, root: Path, path: Path) -> "Source":
        return cls(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))

    @cached_property
    def code(self) -> str:
        """Without comments and the contents of literals."""
        return _TOKEN.sub(_strip, self.raw)

    @cached_property
    def statements(self) -> str:
        """Also without preprocessor directives."""
        return _DIRECTIVE.sub(lambda match: _blank(match.group()), self.code)

    @cached_property
    def comments(self) -> list[tuple[int, str]]:
        """Offset and text of every comment."""
        found = _TOKEN.finditer(self.raw)
        return [(match.start(), match.group()) for match in found if match.group("comment")]

    @cached_property
    def includes(self) -> list[Include]:
        # Comments are blanked in `code`, but so is the path of a quoted include: read it from `raw`.
        found = []
        for match in _INCLUDE.finditer(self.raw):
            if self.code[match.start() : match.start(1)].strip():
                found.append(Include(match[2], self.line_at(match.start(1)), match[1] == "<"))
        return found

    @cached_property
    def lines(self) -> list[str]:
        return self.raw.splitlines()

    def line_at(self, offset: int) -> int:
        return self.raw.count("\n", 0, offset) + 1

    @cached_property
    def allowances(self) -> set[tuple[int, str]]:
        """Line and check of each `// tidy: allow(check) the reason`: it speaks for its line and the next."""
        found = set()
        for offset, text in self.comments:
            for match in _ALLOW.finditer(text):
                line = self.line_at(offset + match.start())
                found |= {(line, match[1]), (line + 1, match[1])}
        return found

    def violation(self, offset: int, check: str, message: str) -> Violation:
        return Violation(self.path, self.line_at(offset), check, message)

    # What the path says about the file.

    @property
    def parts(self) -> list[str]:
        return self.path.split("/")

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def module(self) -> str:
        """The folder below src/, or "" outside it."""
        return self.parts[1] if self.parts[0] == "src" and len(self.parts) > 2 else ""

    @property
    def is_header(self) -> bool:
        return self.name.endswith(".h")

    @property
    def is_test(self) -> bool:
        return self.name.endswith(("_test.cc", "_fuzz.cc")) or "testing" in self.parts or (
            self.parts[0] in ("test", "fuzz")
        )

    @property
    def is_main(self) -> bool:
        return self.name.endswith("main.cc") and "\nint main(" in "\n" + self.code

    @property
    def is_production(self) -> bool:
        return bool(self.module) and not self.is_test
