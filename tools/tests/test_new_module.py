"""The skeleton passes our own lint, and requests that break the layers are refused."""

import pytest

from tools.new_module import Refused, create, with_row
from tools.tidy.__main__ import violations
from tools.tidy.repository import Module, Repository, parse_modules

TABLE = "runnel_module(base    0 EDGES PURE)\nrunnel_module(model   2 EDGES base PURE)\nrunnel_module(cli     7 EDGES base model)\n"


def prepared(root):
    (root / "cmake").mkdir()
    (root / "cmake" / "modules.cmake").write_text(TABLE, encoding="utf-8")
    return root


def test_skeleton_passes_tidy(tmp_path):
    create(prepared(tmp_path), Module("lease", 3, ("base", "model"), True), "who may hold what")
    assert violations(Repository(tmp_path)) == []


def test_row_goes_behind_its_level():
    modules = parse_modules(with_row(TABLE, Module("lease", 3, ("base",), True)))
    assert list(modules) == ["base", "model", "lease", "cli"]
    assert modules["lease"].pure


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (Module("lease", 3, ("cli",), False), "strictly down"),
        (Module("lease", 3, ("nobody",), False), "no such module"),
        (Module("model", 3, ("base",), False), "already"),
        (Module("Bad_Name", 3, ("base",), False), "one lower-case word"),
    ],
)
def test_bad_requests_are_refused_and_write_nothing(tmp_path, module, words):
    with pytest.raises(Refused, match=words):
        create(prepared(tmp_path), module, "x")
    assert not (tmp_path / "src").exists()
