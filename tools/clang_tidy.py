"""Runs clang-tidy-19 over our .cc files and remembers which are clean.

usage: /usr/bin/python3 tools/clang_tidy.py [--build build/release] [--no-cache] [folders or files...]

Most of a run's time goes into headers, so files that declare different names are read as one
translation unit, with the compiler's options of all of them; a group that does not compile as one is
split. A file is skipped when it, all headers of ours that it includes, the checks and the compiler's
options are as they were when it was clean.
"""

import argparse
import hashlib
import json
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from os import cpu_count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "clang-tidy"
TIDY = "clang-tidy-19"
GROUP_FILES_MAX = 120

# Tests may copy, repeat and be slow; what can make them lie is still an error.
TEST_CHECKS = (
    "-*,bugprone-use-after-move,bugprone-unused-raii,bugprone-infinite-loop,bugprone-dangling-handle,"
    "cppcoreguidelines-avoid-capturing-lambda-coroutines,cppcoreguidelines-no-suspend-with-lock,"
    "misc-coroutine-hostile-raii,misc-redundant-expression,readability-identifier-naming"
)

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# A declaration at namespace level begins in the first column; what it declares stands before ( = { ;
_DECLARED = re.compile(
    r"^(?!namespace|using|extern|#|TEST)[A-Za-z_\[][^\n;={(]*?(?<!::)\b(\w+)\s*(?:\[[^\]]*\])?[({=;]", re.MULTILINE
)
_FINDING = re.compile(r"^(\S+?):\d+:\d+: (?:error|warning):", re.MULTILINE)
_TEST_NAME = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),\s*(\w+)", re.MULTILINE)


@dataclass
class Result:
    files: list[Path]
    output: str
    compiled: bool

    def clean_files(self) -> list[Path]:
        """Those that no finding stands in, nor in a header that they include."""
        if not self.output:
            return self.files
        named = {(ROOT / name).resolve() for name in _FINDING.findall(self.output)}
        return [path for path in self.files if named and not named & set(closure(path))]


def is_test(path: Path) -> bool:
    return path.name.endswith("_test.cc") or "testing" in path.parts


@lru_cache(maxsize=None)
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@lru_cache(maxsize=None)
def included(path: Path) -> frozenset[Path]:
    """Our own files that `path` includes, directly."""
    found = (ROOT / "src" / name for name in _INCLUDE.findall(text_of(path)))
    return frozenset(file for file in found if file.is_file())


def closure(path: Path) -> list[Path]:
    seen = {path}
    todo = [path]
    while todo:
        new = included(todo.pop()) - seen
        seen |= new
        todo.extend(new)
    return sorted(seen)


def commands(build: Path) -> dict[Path, list[str]]:
    """For each file of ours the compiler's options of all production files, or of all tests."""
    kinds: dict[bool, dict[str, None]] = {False: {}, True: {}}
    sources = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        found = compiled_files(Path(entry["file"]), build.resolve())
        words = shlex.split(entry["command"])
        first = next(index for index, word in enumerate(words) if "clang++" in Path(word).name)
        sources.extend(found)
        for source in found[:1]:
            kinds[is_test(source)].update(dict.fromkeys(reading_options(words[first + 1 :], entry["file"])))
    return {source: list(kinds[is_test(source)]) for source in sources}


def compiled_files(source: Path, build: Path) -> list[Path]:
    """Our files that a compile command reads: the one it names, or those of a unit that CMake wrote."""
    if build not in source.parents:
        return [source]
    if "Unity" not in source.parts:  # The owner of the tests' precompiled header.
        return []
    return [Path(name) for name in _INCLUDE.findall(text_of(source))]


def reading_options(words: list[str], source: str) -> list[str]:
    """What matters for reading a file, each a single word: no input, output, launcher or -Werror."""
    options = []
    skip = False
    for word, after in zip(words, [*words[1:], ""]):
        if word == "-isystem":
            options.append(word + after)
            skip = True
        elif skip or word in ("-c", "-Werror", "-Winvalid-pch", source):
            skip = False
        elif word in ("-o", "-Xclang"):  # -Xclang only ever carries the precompiled header of the tests.
            skip = True
        else:
            options.append(word)
    return options


def key(path: Path, options: list[str], salt: str) -> str:
    digest = hashlib.sha256(salt.encode())
    digest.update("\0".join(options).replace(str(ROOT), "").encode())
    for file in closure(path):
        digest.update(f"\0{file.relative_to(ROOT)}\0".encode())
        digest.update(text_of(file).encode())
    return digest.hexdigest()


def declared_names(path: Path) -> set[str]:
    text = text_of(path)
    return set(_DECLARED.findall(text)) | {"_".join(pair) for pair in _TEST_NAME.findall(text)}


def groups(files: list[Path]) -> list[list[Path]]:
    """Production files or tests that declare no name twice, largest groups first."""
    found: list[tuple[bool, set[str], list[Path]]] = []
    for path in files:
        kind = is_test(path)
        names = declared_names(path)
        for other_kind, other_names, members in found:
            if kind == other_kind and len(members) < GROUP_FILES_MAX and not names & other_names:
                other_names |= names
                members.append(path)
                break
        else:
            found.append((kind, names, [path]))
    return sorted((members for _, _, members in found), key=len, reverse=True)


def run_group(files: list[Path], options: list[str], work: Path) -> Result:
    name = hashlib.sha256("\0".join(map(str, files)).encode()).hexdigest()[:16]
    unit = work / f"{name}.cc"
    unit.write_text("".join(f'#include "{path}"\n' for path in files), encoding="utf-8")
    command = [TIDY, "--quiet", f"--config-file={ROOT}/.clang-tidy", str(unit)]
    if is_test(files[0]):
        command.append(f"--checks={TEST_CHECKS}")
    done = subprocess.run([*command, "--", *options], capture_output=True, text=True)
    compiled = "[clang-diagnostic-error]" not in done.stdout
    output = done.stdout.replace(f"{ROOT}/", "").strip() if done.returncode else ""
    if done.returncode and not output:
        output = done.stderr.strip()
    return Result(files, output, compiled)


def check(files: list[Path], options: dict[Path, list[str]], work: Path) -> list[Result]:
    """One result, or those of the halves where the files do not compile together."""
    result = run_group(files, options[files[0]], work)
    if result.compiled or len(files) == 1:
        return [result]
    middle = len(files) // 2
    return check(files[:middle], options, work) + check(files[middle:], options, work)


def salt() -> str:
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True).stdout
    return version + text_of(ROOT / ".clang-tidy") + TEST_CHECKS


def selected(paths: list[Path], known: dict[Path, list[str]]) -> list[Path]:
    wanted = [path.resolve() for path in paths] or [ROOT / name for name in ("src", "bench", "fuzz")]
    return sorted(
        path for path in known
        if path.is_file() and any(path == folder or folder in path.parents for folder in wanted)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--no-cache", action="store_true", help="check also what was clean")
    parser.add_argument("-j", "--jobs", type=int, default=cpu_count())
    parser.add_argument("paths", nargs="*", type=Path)
    arguments = parser.parse_args()
    started = time.monotonic()

    options = commands(arguments.build)
    files = selected(arguments.paths, options)
    common = salt()
    keys = {path: key(path, options[path], common) for path in files}
    CACHE.mkdir(parents=True, exist_ok=True)
    stale = [path for path in files if arguments.no_cache or not (CACHE / keys[path]).exists()]

    work = arguments.build / "clang-tidy"
    work.mkdir(exist_ok=True)
    dirty = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        pending = [pool.submit(check, group, options, work) for group in groups(stale)]
        for done in as_completed(pending):
            for result in done.result():
                clean = result.clean_files()
                for path in clean:
                    (CACHE / keys[path]).touch()
                dirty += len(result.files) - len(clean)
                if result.output:
                    print(result.output, flush=True)
    print(f"clang-tidy: {len(files)} files, {len(stale)} checked in {len(pending)} groups, "
          f"{dirty} with errors, {time.monotonic() - started:.0f} s")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
