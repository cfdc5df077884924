"""Every golden bad input, through the command: exit 2, the golden words, and nothing starts."""

import pathlib

import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"


@pytest.mark.parametrize("path", sorted((GOLDEN / "bad").glob("*.yaml")), ids=lambda path: path.stem)
def test_bad_input(runnel, path):
    runnel.home.mkdir()
    nodes = GOLDEN / "nodes.yaml"
    if nodes.exists():
        (runnel.home / "nodes.yaml").write_text(nodes.read_text())
    runnel.run("validate", "-f", path.name, code=2, cwd=path.parent)
    expected = path.with_suffix(".txt").read_text().splitlines()[0]
    assert expected.split(": ", 1)[1] in runnel.err
    assert not (runnel.home / "daemon.sock").exists()
