"""CMake refuses a table of modules whose edges do not lead strictly down."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def configure(root: Path, rows: str) -> subprocess.CompletedProcess:
    table = root / "table.cmake"
    table.write_text(f'cmake_minimum_required(VERSION 3.25)\ninclude("{ROOT}/cmake/AddModule.cmake")\n{rows}\n', encoding="utf-8")
    return subprocess.run(["cmake", "-P", str(table)], capture_output=True, text=True)


def test_table_of_this_repository_is_accepted(tmp_path):
    assert configure(tmp_path, f'include("{ROOT}/cmake/modules.cmake")').returncode == 0


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("runnel_module(base 0 EDGES)\nrunnel_module(env 0 EDGES base)", "strictly down"),
        ("runnel_module(base 2 EDGES)\nrunnel_module(env 1 EDGES base)", "strictly down"),
        ("runnel_module(base 0 EDGES)\nrunnel_module(env 1 EDGES json)", "no row above"),
        ("runnel_module(base 0 EDGES)\nrunnel_module(base 0 EDGES)", "two rows"),
        ("runnel_module(base 0 PURELY EDGES)", "unknown words"),
    ],
)
def test_bad_table_is_refused(tmp_path, rows, words):
    done = configure(tmp_path, rows)
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split())
