"""How files are grouped into units and when a file counts as changed."""

import json
from pathlib import Path

import pytest

from tools import clang_tidy


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr(clang_tidy, "ROOT", tmp_path)
    clang_tidy.text_of.cache_clear()
    clang_tidy.included.cache_clear()
    return tmp_path


def put(root: Path, name: str, text: str) -> Path:
    path = root / "src" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_files_that_declare_a_name_twice_are_kept_apart(tree):
    one = put(tree, "a/one.cc", "namespace runnel::a {\nnamespace {\nconstexpr int kSize = 1;\n}\n}\n")
    two = put(tree, "a/two.cc", "namespace runnel::a {\nnamespace {\nconstexpr int kSize = 2;\n}\n}\n")
    three = put(tree, "a/three.cc", "namespace runnel::a {\nint Size::get() const { return 3; }\n}\n")
    assert clang_tidy.groups([one, two, three]) == [[one, three], [two]]


def test_tests_and_production_files_are_kept_apart(tree):
    one, test, two = (put(tree, name, "") for name in ("a/one.cc", "a/one_test.cc", "b/two.cc"))
    assert clang_tidy.groups([one, test, two]) == [[one, two], [test]]


def test_all_files_of_a_kind_are_read_with_the_options_of_all(tree):
    build = tree / "build" / "release"
    build.mkdir(parents=True)
    compiled = {
        "src/a/one.cc": "-DONE -O2",
        "src/b/two.cc": "-DTWO -O2",
        "build/release/a_test.dir/Unity/unity_0_cxx.cxx": "-DTEST",
        "build/release/pch.hxx.cxx": "-DHEADER",
    }
    unit = build / "a_test.dir" / "Unity" / "unity_0_cxx.cxx"
    unit.parent.mkdir(parents=True)
    unit.write_text(f'#include "{tree}/src/a/one_test.cc"\n', encoding="utf-8")
    entries = [
        {"file": str(tree / name), "command": f"ccache clang++-19 {options} -o x.o -c {tree / name}"}
        for name, options in compiled.items()
    ]
    (build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    production = ["-DONE", "-O2", "-DTWO"]
    assert clang_tidy.commands(build) == {
        tree / "src/a/one.cc": production,
        tree / "src/b/two.cc": production,
        tree / "src/a/one_test.cc": ["-DTEST"],
    }


def test_key_follows_headers_options_and_checks(tree):
    header = put(tree, "a/one.h", "int f();\n")
    put(tree, "a/two.h", '#include "a/one.h"\n')
    source = put(tree, "a/two.cc", '#include "a/two.h"\n')
    before = clang_tidy.key(source, ["-O2"], "checks")
    assert clang_tidy.key(source, ["-O2"], "checks") == before
    assert clang_tidy.key(source, ["-O1"], "checks") != before
    assert clang_tidy.key(source, ["-O2"], "others") != before
    header.write_text("long f();\n", encoding="utf-8")
    clang_tidy.text_of.cache_clear()
    assert clang_tidy.key(source, ["-O2"], "checks") != before


def test_options_for_reading_leave_out_outputs_and_precompiled_headers():
    words = "-O2 -Xclang -include-pch -Xclang /b/test.pch -Werror -o x.o -c a.cc -DX=1".split()
    assert clang_tidy.reading_options(words, "a.cc") == ["-O2", "-DX=1"]
