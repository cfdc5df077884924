"""Whole homes that earlier builds left, killed in the middle of a job: this build opens them and goes on."""

import pathlib
import tarfile

import pytest

HOMES = sorted((pathlib.Path(__file__).parents[1] / "golden/home").glob("*.tar.xz"))


@pytest.mark.parametrize("packed", HOMES, ids=lambda path: path.name)
def test_the_home_of_an_earlier_build_opens(runnel, packed):
    with tarfile.open(packed) as tar:
        tar.extractall(runnel.home.parent)
    runnel.run("fsck")
    assert "all sound" in runnel.err
    assert "all to the same" in runnel.run("simulate", "--verify", runnel.home), "each batch is written as it was"
    jobs = {job["name"]: job for job in runnel.json("ps", "-a", "--limit", "2000")["jobs"]}
    assert set(jobs) >= {"first", "search", "loud", "last"}
    first = runnel.job(jobs["first"]["id"])
    assert first["status"] == "SUCCEEDED", "one from the archive"
    assert runnel.run("logs", first["id"]) == "from the first job\n"
    assert (runnel.home / "jobs" / first["id"] / "shared/answer").read_text() == "42\n"
    assert runnel.run("logs", jobs["loud"]["id"]) == "to stdout\n"
    assert "to stderr" in runnel.err
    assert runnel.job(jobs["search"]["id"])["status"] == "SUCCEEDED"
    assert runnel.wait(jobs["last"]["id"])["status"] == "SUCCEEDED", "the unfinished one goes on, with its secret"
    assert runnel.run("logs", jobs["last"]["id"]).count("knows its secret") == 2
    assert not (runnel.home / "lost+found").exists()
    runnel.until(lambda: not runnel.pids(), timeout=60)
    runnel.run("fsck")
    assert "all sound" in runnel.err
