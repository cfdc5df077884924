"""How files are grouped into units and when a file counts as changed."""

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
    options = {path: ["-O2"] for path in (one, two, three)}
    assert clang_tidy.groups([one, two, three], options) == [[one, three], [two]]


def test_tests_other_modules_and_other_options_are_kept_apart(tree):
    files = [put(tree, name, "") for name in ("a/one.cc", "a/one_test.cc", "b/two.cc", "a/three.cc")]
    options = {path: ["-O2"] for path in files} | {files[3]: ["-O0"]}
    assert [len(group) for group in clang_tidy.groups(files, options)] == [1, 1, 1, 1]


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
