"""Calls that only some modules may make: each ban names its replacement."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from .repository import Repository
from .source import Source, Violation

# The seams to the operating system: env, and files that start with these paths. The runner writes output; a store in a
# folder has descriptors of its own, to read ranges and to give a file its name only where none is; so has a put, which
# reads files part by part and looks whether they changed meanwhile, a get, which gives them their modes and times, and
# a log of writes, which is written and synced in place.
_SEAMS = ("src/runner", "src/output/open_file", "src/output/job_output", "src/object/local/object_folder",
          "src/volume/source_tree", "src/volume/target_tree", "src/volume/tar_reader", "src/volume/folder_bench",
          "src/volume/folder_root",
          "src/writing/log_folder")
_ENV = ("env",)
_CALL = r"(?<![\w.>:])(?:std::|::)?"


@dataclass(frozen=True)
class Ban:
    name: str
    pattern: str
    cure: str
    modules: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    in_tests: bool = False  # Whether tests, benches and mains are held to it too.
    pure_only: bool = False
    regex: re.Pattern = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "regex", re.compile(self.pattern))


def _os(name: str, pattern: str, cure: str, *modules: str) -> Ban:
    return Ban(name, pattern, cure, modules=(*_ENV, *modules), paths=_SEAMS)


BANS = (
    _os("clock", r"\b(?:system|steady|high_resolution)_clock::now\b|" + _CALL
        + r"(?:clock_gettime|gettimeofday|time)\s*\((?:\s*(?:nullptr|NULL|0|&\w+|CLOCK_\w+))",
        "take `now` as an argument, or an env::Clock&", "async"),
    _os("chance", r"\brandom_device\b|" + _CALL + r"(?:rand|srand|random|drand48|getrandom|getentropy)\s*\(",
        "take a seed or an env::Random&"),
    _os("sleep", r"\bsleep_(?:for|until)\b|" + _CALL + r"(?:u|nano)?sleep\s*\(",
        "await a timer of async, or wait on a condition", "async"),
    _os("thread", r"\bstd::(?:jthread|async)\b|\bstd::thread\b(?!::(?:id|hardware_concurrency))|\bpthread_create\b",
        "use async's loop, pool or named thread", "async"),
    _os("environment", _CALL + r"(?:secure_)?(?:getenv|setenv|unsetenv|putenv)\s*\(|\bextern char\s*\*\*\s*environ\b",
        "take the value as an option; the composition root reads the environment through env", "async"),
    _os("process", _CALL + r"(?:fork|vfork|execl|execle|execlp|execv|execve|execvp|execvpe|posix_spawnp?|popen|daemon|clone)\s*\(",
        "use env::Subprocess, or ask the runner"),
    Ban("system", r"(?<![\w.>])(?:std::|::)system\s*\(", "use env::Subprocess: no shell parses our text"),
    _os("file", r"(?<![\w])::(?:open|openat|creat|unlink|rename|mkdir|fopen)\s*\(|" + _CALL
        + r"(?:fopen|creat|mkstemp|mkdtemp)\s*\(|\bstd::(?:basic_)?[io]?fstream\b|\bstd::filesystem::(?!path\b)",
        "use env::Files", "async"),
    Ban("unsafe", _CALL + r"(?:strtok|gets|strcpy|strcat|sprintf|vsprintf|atoi|atol|atoll|atof|tmpnam|mktemp)\s*\(",
        "use std::string, std::from_chars or base's parsers", in_tests=True),
    Ban("throwing-parse", r"\bstd::sto(?:i|l|ll|ul|ull|f|d|ld)\s*\(", "use std::from_chars or base's parsers: these throw"),
    Ban("shared-buffer", _CALL + r"(?:localtime|gmtime|ctime|asctime|strerror|readdir64)\s*\(",
        "use the _r form, or std::error_code's message"),
    Ban("regex", r"\bstd::(?:basic_)?regex\b", "parse by hand: std::regex is slow and recurses on its input"),
    Ban("assert", r"(?<![\w_])assert\s*\(", "use CHECK, which stays on in release builds", in_tests=True),
    Ban("throw", r"\bthrow\b(?!\s*[;(])", "return an Error: no exception crosses a module border"),
    Ban("delete", r"(?<!operator )(?<!= )\bdelete\b", "own it with std::unique_ptr"),
    Ban("new-try", r"\bnew\s+[\w:<>, ]+[({][^;]*?\b(?:CO_)?TRY(?=\()",
        "take the value before: TRY returns between the allocation and the constructor, and nobody frees what was allocated",
        in_tests=True),
    Ban("detach", r"\.\s*detach\s*\(\s*\)", "join it: detached threads outlive what they use", in_tests=True),
    Ban("goto", r"\bgoto\b", "return from a function", in_tests=True),
    Ban("endl", r"\bstd::endl\b", r"write '\n'; flush where it matters", in_tests=True),
    Ban("distribution", r"\bstd::\w+_distribution\b",
        "draw with env's or model's own functions: standard distributions differ between libraries", pure_only=True),
    Ban("float-in-state", r"\b(?:double|float)\b", "state is exact: integers and stored text", pure_only=True),
)

# `apply` must fold to the same bits everywhere. Other pure code may use floats inside `decide`.
_EXACT = re.compile(r"^src/brain/(?:apply|state)\w*\.(?:cc|h)$")


def _applies(ban: Ban, source: Source, repository: Repository) -> bool:
    if source.parts[0] in ("test", "cmake"):
        return False
    loose = source.is_test or source.is_main or source.parts[0] in ("bench", "fuzz")
    if loose and not ban.in_tests:
        return False
    if source.module in ban.modules or source.path.startswith(ban.paths or ("\0",)):
        return False
    if ban.name == "float-in-state":
        return bool(_EXACT.match(source.path))
    return not ban.pure_only or repository.is_pure(source)


_TYPE_BEFORE = re.compile(r"([\w>&*])[ \t]+$")
_NO_TYPE = re.compile(r"\b(?:return|co_return|co_await|co_yield|else|do|case|throw|and|or|not)[ \t]+$")


def _declares(text: str, at: int) -> bool:
    """Whether a type stands before the name: `Dice fork(int n);` declares a fork of our own."""
    before = text[max(0, at - 40) : at]
    line = before[before.rfind("\n") + 1 :]
    is_call = re.match(r"\w+\s*\(", text[at:]) is not None
    return is_call and bool(_TYPE_BEFORE.search(line)) and not _NO_TYPE.search(line)


def check_bans(repository: Repository) -> Iterable[Violation]:
    for source in repository.sources:
        for ban in BANS:
            if not _applies(ban, source, repository):
                continue
            for match in ban.regex.finditer(source.statements):
                if _declares(source.statements, match.start()):
                    continue
                yield source.violation(match.start(), ban.name, f"`{match.group().strip()}`: {ban.cure}")


CHECKS = (check_bans,)
