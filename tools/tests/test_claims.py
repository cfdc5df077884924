"""docs/claims.md names tests, programs and environment variables that are there, and bounds that the tests hold."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = (ROOT / "docs/claims.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"`([^`]+)`", CLAIMS)


def sources(*patterns: str) -> dict[Path, str]:
    found = [path for pattern in patterns for path in ROOT.glob(pattern)]
    return {path: path.read_text(encoding="utf-8", errors="replace") for path in found}


def unit_tests() -> set[str]:
    cases = r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)"
    texts = sources("src/**/*_test.cc").values()
    suites = {f"{suite}.{name}" for text in texts for suite, name in re.findall(cases, text)}
    typed = {f"{suite}.{name}" for text in sources("src/**/*.h", "src/**/*.cc").values()
             for suite, name in re.findall(r"\bTYPED_TEST(?:_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", text)}
    return suites | typed


def filters() -> list[str]:
    """Each pattern of a --gtest_filter, and each name with a star or a dot that begins as a suite does."""
    given = [one for text in QUOTED for one in re.findall(r"--gtest_filter='([^']+)'", text)]
    alone = [text for text in QUOTED if re.fullmatch(r"[A-Z]\w+(\.\w+)?\*|[A-Z]\w+\.(\w+\*?|\*)", text)]
    return [pattern for one in given + alone for pattern in one.split(":")]


def test_every_unit_test_that_is_named_is_there():
    names = unit_tests()
    assert len(names) > 1_000
    missing = [each for each in filters() if not any(fnmatchcase(name, each) for name in names)]
    assert missing == []


def test_every_file_that_is_named_is_there():
    named = {word for text in QUOTED for word in re.findall(r"(?:test|bench|docs|tools|examples)/[\w/.-]+\.\w+", text)}
    assert len(named) > 20
    assert sorted(word for word in named if not (ROOT / word).exists()) == []


def test_every_choice_of_tests_chooses_one():
    for text in QUOTED:
        for path, word in re.findall(r"(test/e2e/\w+\.py) -k (\w+)", text):
            tests = re.findall(r"^def (test_\w+)", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
            assert any(word in name for name in tests), f"{path} -k {word}"


def test_every_variable_that_is_set_is_read_somewhere():
    set_ones = {name for text in QUOTED for name in re.findall(r"\b(RUNNEL_\w+)=", text)}
    texts = "".join(sources("test/**/*.py", "src/**/*.cc", "tools/*.sh", "bench/*.py").values())
    assert set_ones and sorted(name for name in set_ones if name not in texts) == []


def bounds() -> list[tuple[str, str, str]]:
    """Rows of the table of bounds: what is bounded, the bound, and the constant `FILE NAME` that holds it."""
    table = CLAIMS.split("## Bounds that tests hold", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `(\S+ \w+)` \|$", table, re.MULTILINE)
    return [row for row in rows if row[0] != "what"]


def value_of(place: str) -> str:
    path, name = place.split()
    text = (ROOT / path).read_text(encoding="utf-8")
    found = re.search(rf"\b{name} = ([^;#\n]+)", text)
    assert found, f"{path} has no {name}"
    return found[1].strip()


def number_in(text: str) -> float:
    return float(re.search(r"\d[\d_',]*(?:\.\d+)?", text)[0].translate(str.maketrans("", "", "_',")))


def test_claimed_bounds_are_those_of_the_tests():
    assert len(bounds()) >= 10
    for what, bound, place in bounds():
        assert number_in(bound) == number_in(value_of(place)), f"{what}: {bound} is claimed, {place} is {value_of(place)}"
