"""What gc of a volume deletes, and what it leaves."""

import os
import signal

import pytest

from test_volume import long_put, same, tree


def objects(store):
    return sorted(str(path.relative_to(store)) for path in store.rglob("*") if path.is_file())


def ids(versions):
    return [each["version"] for each in versions]


def size(store):
    return sum(path.stat().st_size for path in store.rglob("p/*"))


@pytest.fixture
def data(runnel, tmp_path):
    """A volume `data` in a folder."""
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    return tmp_path / "store/data"


def test_gc_drops_versions_by_age_but_no_tagged_one(runnel, data, tmp_path):
    versions = []
    for number in range(4):
        source = tree(tmp_path / f"source{number}", {f"{number}": os.urandom(5000)})
        versions.append(runnel.run("volume", "put", "--mirror", source, "data").strip())
    assert runnel.run("volume", "tag", f"data@{versions[1]}", "best").strip() == versions[1]
    before = objects(data)
    assert runnel.run("volume", "gc", "data") == "deleted 0 objects, 0 B\n"
    assert objects(data) == before, "without --keep nothing is dropped"

    said = runnel.run("volume", "gc", "data", "--keep", "0s", "--dry-run").splitlines()
    assert objects(data) == before
    told = {each["version"]: each for each in runnel.json("volume", "versions", "data")["versions"]}
    assert said[:2] == [f"would drop version {version}, {told[version]['time']}, 1 file"
                        for version in (versions[2], versions[0])]
    would = runnel.json("volume", "gc", "data", "--keep", "0s", "--dry-run")
    assert would["dry_run"] and would["bytes"] > 2 * 5000, "the packs of both, and pages of the index"
    assert said[2].startswith(f"would delete at least {would['objects']} objects, ") and len(said) == 3
    said = runnel.json("volume", "gc", "data", "--keep", "0s")
    assert said["dropped"] == would["dropped"] and ids(said["dropped"]) == [versions[2], versions[0]]
    assert said["objects"] >= would["objects"] and said["bytes"] >= would["bytes"] >= 0.8 * said["bytes"]
    left = [each["version"] for each in runnel.json("volume", "versions", "data")["versions"]]
    assert left == [versions[3], versions[1]]
    for version, number in ((versions[3], 3), ("best", 1)):
        runnel.run("volume", "get", f"data@{version}", tmp_path / f"copy{number}")
        assert same(tmp_path / f"source{number}", tmp_path / f"copy{number}")
    runnel.run("volume", "get", f"data@{versions[0]}", tmp_path / "gone", code=1)
    assert "has no version" in runnel.err
    runnel.run("volume", "tag", "data", "best", "--delete")
    assert ids(runnel.json("volume", "gc", "data", "--keep", "0s")["dropped"]) == [versions[1]]


def test_gc_packs_anew_what_is_left_of_half_empty_packs(runnel, data, tmp_path):
    source = tree(tmp_path / "source", {f"{number}": os.urandom(3000) for number in range(1000)})
    runnel.run("volume", "put", source, "data")
    before = size(data)
    gone = [source / f"{number}" for number in range(1000) if number % 10 < 3]
    for path in gone:
        path.unlink()
    version = runnel.run("volume", "put", "--mirror", source, "data").strip()
    would = runnel.json("volume", "gc", "data", "--keep", "0s", "--dry-run")
    assert size(data) == before
    assert would["bytes"] - would["rewritten"] >= 0.9 * 3000 * len(gone), "a dry run counts it, too"
    assert runnel.json("volume", "gc", "data", "--keep", "0s")["rewritten"] == would["rewritten"]
    assert before - size(data) >= 0.9 * 3000 * len(gone), "of what is dead at least nine tenths come back"
    assert runnel.json("volume", "versions", "data")["versions"][0]["version"] == version
    runnel.run("volume", "get", "data", tmp_path / "copy")
    assert same(source, tmp_path / "copy")
    assert runnel.run("volume", "put", source, "data").strip() == version, "nothing has changed"
    dry = runnel.run("volume", "gc", "data", "--dry-run")
    assert dry == "would delete at least 0 objects, 0 B\n", "and nothing is left to do"
    assert runnel.run("volume", "gc", "data") == "deleted 0 objects, 0 B\n"


def test_nothing_stays_of_puts_and_gcs_that_were_killed(runnel, data, tmp_path):
    kept = tree(tmp_path / "kept", {f"{number}": os.urandom(3000) for number in range(300)})
    runnel.run("volume", "put", kept, "data")
    runnel.run("volume", "gc", "data")
    source = tree(tmp_path / "source", long_put())
    packs = len(list(data.glob("p/*")))
    put = runnel.start("volume", "put", source, "data:/more")
    runnel.until(lambda: len(list(data.glob("p/*"))) > packs)
    put.send_signal(signal.SIGKILL)
    put.communicate()
    assert put.returncode == -signal.SIGKILL, "it ended before: make the folder larger"
    gc = runnel.start("volume", "gc", "data")
    runnel.until(lambda: gc.poll() is not None or list(data.glob("g/*")))
    gc.send_signal(signal.SIGKILL)
    gc.communicate()
    said = runnel.json("volume", "gc", "data")
    runnel.json("volume", "gc", "data")
    assert len(list(data.glob("p/*"))) == packs and not list(data.glob("s/*")), (said, objects(data))
    assert runnel.run("volume", "gc", "data") == "deleted 0 objects, 0 B\n"
    runnel.run("volume", "get", "data", tmp_path / "copy")
    assert same(kept, tmp_path / "copy")


def test_a_put_that_was_stopped_over_a_gc_publishes_nothing_that_is_gone(runnel, data, tmp_path):
    source = tree(tmp_path / "source", long_put())
    put = runnel.start("volume", "put", source, "data")
    runnel.until(lambda: list(data.glob("p/*")))
    put.send_signal(signal.SIGSTOP)
    for session in data.glob("s/*"):
        session.unlink()  # As gc does after it has waited for 30 s.
    runnel.run("volume", "gc", "data")
    assert not list(data.glob("p/*"))
    put.send_signal(signal.SIGCONT)
    _, err = put.communicate(timeout=60)
    assert put.returncode == 1 and "taken for dead" in err and "run it again" in err
    runnel.run("volume", "put", source, "data")
    runnel.run("volume", "get", "data", tmp_path / "copy")
    assert same(source, tmp_path / "copy")


def test_bad_tags_and_ages_say_what_would_be_right(runnel, data, tmp_path):
    runnel.run("volume", "put", tree(tmp_path / "source", {"a": b"1"}), "data")
    runnel.run("volume", "tag", "data", "best")
    for code, words, said in (
        (2, ("tag", "data", "latest"), "a tag has 1 to 63"),
        (2, ("tag", "data", "abc"), "0-9 and a-f alone"),
        (1, ("tag", "data@nothing", "other"), "has no version 'nothing'"),
        (1, ("tag", "data", "other", "--delete"), "no version has the tag 'other'"),
        (2, ("gc", "data", "--keep", "1x"), "'1x' is not a length of time"),
        (1, ("gc", "other"), "there is no volume other"),
    ):
        runnel.run("volume", *words, code=code)
        assert said in runnel.err
    runnel.run("volume", "put", tree(tmp_path / "source", {"b": b"2"}), "data")
    runnel.run("volume", "tag", "data", "best", code=1)
    assert "--force" in runnel.err
    runnel.run("volume", "tag", "data", "best", "--force")


def test_a_put_that_was_killed_goes_on(runnel, data, tmp_path):
    def whole_packs():
        """Without those that are being written."""
        return {path for path in data.glob("p/*") if len(path.name) == len("0123456789abcdef-0123456789abcdef")}

    source = tree(tmp_path / "source", long_put())
    put = runnel.start("volume", "put", source, "data")
    runnel.until(lambda: len(whole_packs()) >= 2)
    put.send_signal(signal.SIGKILL)
    put.communicate()
    assert put.returncode == -signal.SIGKILL, "it ended before: make the folder larger"
    there = whole_packs()
    version = runnel.run("volume", "put", source, "data").strip()
    assert "that an interrupted put had stored" in runnel.err
    packs = whole_packs()
    assert there <= packs, "what was put is part of the version"
    runnel.run("volume", "gc", "data")
    assert whole_packs() == packs, "and nothing was put twice"
    runnel.run("volume", "get", "data", tmp_path / "copy")
    assert same(source, tmp_path / "copy")
    runnel.run("volume", "create", "other", "--store", f"file://{tmp_path}/store")
    assert runnel.run("volume", "put", source, "other").strip() == version, "as one that nobody interrupted"
