"""Branches of a volume: what several write at once, each as if alone, and what a merge makes of it."""

import os
import subprocess
import threading

import pytest

from conftest import kill
from test_mount import data, mounts, pytestmark, versions  # noqa: F401  Fixtures and marks.
from test_rw_mount import got
from test_volume import same


def branches(runnel):
    """By their names."""
    return {each["branch"]: each for each in runnel.json("volume", "branches", "data")["branches"]}


def end(runnel, folder, branch):
    """Its mount is no more, and all that was written is in the branch."""
    runnel.run("volume", "umount", folder)
    runnel.until(lambda: branches(runnel)[branch]["sealed"])


def test_what_two_write_at_once_becomes_one_version(runnel, data, mounts, tmp_path):  # noqa: F811
    before = versions(runnel)
    folders = {name: mounts.make("data", name, "--branch", name) for name in ("one", "two")}
    for name, folder in folders.items():
        assert same(data, folder), "as the newest version"
        (folder / "results").mkdir()
        (folder / f"results/{name}").write_bytes(os.urandom(3_000_000))
        (folder / f"many/000{len(name)}{name}").write_text(name)
    (folders["one"] / "many/0007").unlink()
    assert not (folders["two"] / "results/one").exists(), "each is as if alone"
    assert (folders["two"] / "many/0007").exists()
    for name, folder in folders.items():
        assert set(branches(runnel)) == {"one", "two"}
        end(runnel, folder, name)
    assert versions(runnel) == before, "nobody's version"
    merged = runnel.json("volume", "merge", "data", "one", "two", "-m", "both")
    assert versions(runnel)[0] == merged["version"] and not branches(runnel)
    result = got(runnel, tmp_path)
    assert sorted(os.listdir(result / "results")) == ["one", "two"]
    assert not (result / "many/0007").exists() and (result / "many/0008").exists()


def test_one_path_with_different_bytes_is_a_conflict_that_names_both(runnel, data, mounts):  # noqa: F811
    before = versions(runnel)
    for name in ("one", "two"):
        folder = mounts.make("data", name, "--branch", name)
        (folder / "metrics").write_text(name)
        end(runnel, folder, name)
    runnel.run("volume", "merge", "data", "one", "two", code=1)
    assert all(word in runnel.err for word in ("'one'", "'two'", "'metrics'")), runnel.err
    assert versions(runnel) == before and set(branches(runnel)) == {"one", "two"}
    runnel.run("volume", "branches", "data", "--remove", "two")
    runnel.run("volume", "merge", "data", "one")
    assert runnel.run("volume", "cat", "data:/metrics") == "one"


def test_a_branch_goes_on_elsewhere_and_who_wrote_it_has_lost(runnel, data, mounts):  # noqa: F811
    first = mounts.make("data", "first", "--branch", "task")
    (first / "checkpoint").write_text("step 1")
    runnel.run("volume", "publish", first)
    second = mounts.make("data", "second", "--branch", "task", "--term", "2")
    assert (second / "checkpoint").read_text() == "step 1"
    (first / "checkpoint").write_text("late")
    runnel.run("volume", "publish", first, code=1)
    assert "branch 'task'" in runnel.err
    with pytest.raises(OSError, match="Read-only"):
        (first / "more").write_text("x")
    (second / "checkpoint").write_text("step 2")
    runnel.run("volume", "umount", "--lazy", first)
    end(runnel, second, "task")
    runnel.run("volume", "merge", "data", "task")
    assert runnel.run("volume", "cat", "data:/checkpoint") == "step 2"


def test_what_was_closed_outlives_the_server_and_the_branch_its_processes(runnel, data, mounts):  # noqa: F811
    folder = mounts.make("data", "mnt", "--branch", "task")
    (folder / "before").write_text("1")
    kill(mounts.server())
    (folder / "after").write_text("2")
    runnel.run("volume", "publish", folder)
    (folder / "closed").write_text("3")
    for verb in ("mount", "serve"):
        for pid in mounts.processes(verb):
            kill(pid)
    runnel.until(lambda: not mounts.processes("serve"))
    runnel.run("volume", "gc", "data")
    assert not branches(runnel)["task"]["sealed"]
    folder = mounts.make("data", "mnt", "--branch", "task")
    assert [(folder / name).read_text() for name in ("before", "after", "closed")] == ["1", "2", "3"]
    end(runnel, folder, "task")
    runnel.run("volume", "merge", "data", "task")
    assert runnel.run("volume", "cat", "data:/after") == "2"


def test_many_write_at_once(runnel, data, mounts, tmp_path):  # noqa: F811
    names = [f"task.{number}" for number in range(8)]
    folders = {name: mounts.make("data", name, "--branch", name) for name in names}

    def work(name):
        for number in range(50):
            path = folders[name] / "out" / name / str(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name} {number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in names:
        end(runnel, folders[name], name)
    runnel.run("volume", "merge", "data", *names)
    out = got(runnel, tmp_path) / "out"
    for name in names:
        assert {path.name: path.read_text() for path in (out / name).iterdir()} == {
            str(number): f"{name} {number}" for number in range(50)
        }


def test_what_cannot_be_is_refused(runnel, data, mounts):  # noqa: F811
    (mounts.folder / "mnt").mkdir()
    refusals = {
        ("mount", "-d", "--branch", "a/b", "data", mounts.folder / "mnt"): "the name of a branch has",
        ("merge", "data", "none"): "has no branch 'none'",
        ("branches", "data", "--remove", "none"): "has no branch 'none'",
    }
    for words, why in refusals.items():
        runnel.run("volume", *words, code=None)
        assert why in runnel.err, words
    assert runnel.run("volume", "branches", "data") == "no branches\n"
    folder = mounts.make("data", "mnt2", "--branch", "task")
    runnel.run("volume", "merge", "data", "task", code=1)
    assert "still written to" in runnel.err
    runnel.run("volume", "delete", "data", "--yes", code=1)
    assert "in use" in runnel.err and "task" in runnel.err
    runnel.run("volume", "umount", folder)


def test_a_file_with_two_names_keeps_the_other(runnel, data, mounts):  # noqa: F811
    folder = mounts.make("data", "mnt", "--mode", "rw")
    (folder / "first").write_text("bytes")
    for name in ("second", "third"):
        os.link(folder / "first", folder / name)
    runnel.run("volume", "umount", folder)
    folder = mounts.make("data", "mnt", "--branch", "task")
    (folder / "first").unlink()
    end(runnel, folder, "task")
    runnel.run("volume", "merge", "data", "task")
    assert runnel.run("volume", "cat", "data:/second") == "bytes"
    runnel.run("volume", "rm", "data:/second")
    assert runnel.run("volume", "cat", "data:/third") == "bytes"
    runnel.run("volume", "rm", "data:/third")
    runnel.run("volume", "fsck", "data")
