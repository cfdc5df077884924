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
    assert expected.split(": ", 1)[1] in runnel.err.replace(f"{runnel.home}/nodes.yaml", "nodes.yaml")
    assert not (runnel.home / "daemon.sock").exists()


def test_a_file_that_cannot_be_read_is_a_fault_of_usage(runnel):
    folder = runnel.work / "folder"
    folder.mkdir()
    for words in (["run", "missing.yaml"], ["validate", "-f", folder], ["run", "--env-file", folder, "--", "true"]):
        runnel.run(*words, code=2)
        assert "name a file that you can read: ls -ld" in runnel.err
    runnel.run("simulate", "--verify", folder, code=2)
    assert "name the folder that `runnel home` shows" in runnel.err


def test_a_wrong_value_is_named_with_what_it_may_be(runnel):
    job = runnel.json("up", "-f", runnel.file("steps: {a: {run: 'true'}, b: {run: 'true'}}"))["id"]
    runnel.wait(job)
    for words, told in (
        (["show", job, "--task", "99", "--step", "b"], "task: step 'b' has no task '99'; its tasks are 0 to 0"),
        (["show", job, "--step", "nope"], "step: the job has no step 'nope'; it has a, b"),
        (["logs", job, "--since", "yesterday"], "since: 'yesterday' is neither"),
    ):
        runnel.run(*words, code=None)
        assert told in runnel.err, runnel.err


def test_a_steps_name_goes_before_its_position(runnel):
    job = runnel.up("steps: {a: {run: 'true'}, '0': {run: 'true', depends_on: a}}")
    runnel.wait(job)
    assert runnel.json("show", job, "--step", "0")["tasks"][0]["step"] == "0"


def test_a_seed_of_zero_is_one_schedule(runnel):
    assert runnel.json("simulate", "--seed", "0")["seed"] == 0
    runnel.run("simulate", "--schedules", "-1", code=2)
    assert "'-1' is not a whole number from 1" in runnel.err
