"""What `runnel volume` does with names, versions and other places: show, cp, mv, sync, snapshot, restore."""

import json
import shutil
import signal

import pytest

from conftest import Runnel
from test_volume import long_put, rebuild, same, tree


@pytest.fixture
def data(runnel, tmp_path):
    """A volume `data` in a folder, with one version."""
    source = tree(tmp_path / "source", {"a/x": b"1", "a/sub/y": b"2", "f": b"3"})
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    runnel.run("volume", "put", source, "data", "-m", "the first")
    return tmp_path / "store/data"


def newest(runnel, name="data"):
    return runnel.json("volume", "show", f"{name}@latest")


def paths(runnel, target):
    """All paths of a version that are not folders."""
    name, _, folder = target.partition(":/")
    found = set()
    for entry in runnel.json("volume", "ls", target)["entries"]:
        path = f"{folder}/{entry['name']}".lstrip("/")
        found |= paths(runnel, f"{name}:/{path}") if entry["kind"] == "folder" else {path}
    return found


def packs(store):
    return sorted(path.name for path in store.glob("p/*"))


def test_show_tells_of_a_volume_and_of_a_version(runnel, data, tmp_path):
    version = runnel.run("volume", "tag", "data", "first").strip()
    told = runnel.json("volume", "show", "data")
    assert told["name"] == "data" and told["store"] == f"file://{tmp_path}/store" and len(told["uuid"]) == 32
    assert (told["newest"], told["versions"], told["tags"], told["format"]) == (version, 1, {"first": version}, 1)
    of_version = runnel.json("volume", "show", "data@first")
    assert of_version["version"] == version and of_version["tags"] == ["first"] and of_version["message"] == "the first"
    assert (of_version["files"], of_version["folders"], of_version["bytes"], of_version["parent"]) == (3, 3, 3, "")
    assert (data / of_version["manifest"]).exists() and len(of_version["tree"]) == 64
    text = runnel.run("volume", "show", "data@first")
    assert f"version   {version}\n" in text and "3 files, 3 folders, 0 links, 3 B" in text
    assert f"first ({version})" in runnel.run("volume", "info", "data")
    runnel.run("volume", "create", "empty")
    assert "newest" not in runnel.json("volume", "show", "empty")
    for words, code, said in ((("data@none",), 1, "has no version 'none'"), (("data:/a",), 2, "volume ls -l data:/a"),
                              (("other",), 1, "there is no volume other")):
        runnel.run("volume", "show", *words, code=code)
        assert said in runnel.err


def test_mv_and_cp_make_versions_without_touching_a_chunk(runnel, data):
    before = packs(data)
    told = runnel.json("volume", "mv", "data:/f", "data:/a")
    assert told["path"] == "/a/f" and told["version"] == newest(runnel)["version"]
    runnel.run("volume", "mv", "data:/a/sub", "data:/moved", "-m", "renamed")
    assert newest(runnel)["message"] == "renamed"
    assert paths(runnel, "data:/") == {"a/x", "a/f", "moved/y"}
    assert runnel.json("volume", "cp", "-r", "data:/a", "data:/copies/")["path"] == "/copies/a"
    first = runnel.json("volume", "versions", "data")["versions"][-1]["version"]
    runnel.run("volume", "cp", f"data@{first}:/f", "data:/f")
    assert paths(runnel, "data:/") == {"a/x", "a/f", "moved/y", "copies/a/x", "copies/a/f", "f"}
    assert runnel.run("volume", "cat", "data:/copies/a/f") == "3"
    assert packs(data) == before and not list(data.glob("s/*"))
    assert runnel.run("volume", "fsck", "data").endswith("whole\n")


def test_mv_and_cp_refuse_what_a_shell_refuses(runnel, data):
    version = newest(runnel)["version"]
    for words, code, said in (
        (("mv", "data:/a", "data:/a/sub"), 2, "'a' cannot go into itself"),
        (("cp", "data:/a", "data:/a/sub"), 2, "cannot go into itself"),
        (("cp", "data:/", "data:/all"), 2, "the root cannot go into itself"),
        (("mv", "data:/a", "data:/f"), 1, "runnel volume rm data:/f"),
        (("cp", "data:/a", "data:/f"), 1, "'f' is no folder in the volume already"),
        (("mv", "data:/f", "data:/f"), 2, "both are the same"),
        (("mv", "data:/none", "data:/a"), 1, "there is no 'none'"),
        (("mv", "data:/", "data:/a"), 2, "the root of a volume stays"),
        (("mv", "data:/f", "other:/f"), 2, "mv renames inside one volume"),
        (("mv", f"data@{version}:/f", "data:/g"), 2, f"leave out @{version}"),
        (("cp", "data:/f", f"data@{version}:/g"), 2, f"leave out @{version}"),
        (("cp", "a", "b"), 2, "neither side of the copy is in a volume"),
        (("cp", "s3://bkt/a", "data:/a"), 2, "runnel volume import"),
        (("cp", "data:a", "data:/b"), 2, "./data:a"),
        (("cp", "none", "data:/b"), 1, "none"),
    ):
        runnel.run("volume", *words, code=code)
        assert said in runnel.err, (words, runnel.err)
    assert newest(runnel)["version"] == version


def test_cp_takes_files_and_folders_in_and_out_as_a_shell_does(runnel, data, tmp_path):
    one = tree(tmp_path / "in", {"one": b"one\n", "deep/two": b"two\n"})
    assert runnel.json("volume", "cp", one / "one", "data:/a")["path"] == "/a/one"
    assert runnel.json("volume", "cp", one / "one", "data:/new name")["path"] == "/new name"
    assert runnel.json("volume", "cp", one / "deep", "data:/a")["path"] == "/a/deep"
    runnel.run("volume", "cp", one / "deep", "data:/b")
    assert paths(runnel, "data:/") == {"a/x", "a/sub/y", "f", "a/one", "new name", "a/deep/two", "b/two"}
    runnel.run("volume", "cp", one / "one", "data:/f")
    assert runnel.run("volume", "cat", "data:/f") == "one\n"

    out = tmp_path / "out"
    runnel.run("volume", "cp", "data:/a/one", out)
    assert out.read_bytes() == b"one\n"
    out.unlink()
    runnel.run("volume", "cp", "data:/a/one", f"{out}/")
    runnel.run("volume", "cp", "data:/a", out)
    assert (out / "one").read_bytes() == b"one\n" and (out / "a/deep/two").read_bytes() == b"two\n"
    runnel.run("volume", "cp", "data:/a/deep", out / "renamed")
    assert (out / "renamed/two").exists()
    runnel.run("volume", "cp", "data:/none", f"{tmp_path}/not made/", code=1)
    assert not (tmp_path / "not made").exists()


def test_cp_between_volumes_gives_the_same_tree(runnel, data, tmp_path):
    runnel.run("volume", "create", "other", "--store", f"file://{tmp_path}/elsewhere")
    runnel.run("volume", "cp", "data:/", "other:/")
    assert "copied 3 files, 3 B" in runnel.err
    assert newest(runnel, "other")["tree"] == newest(runnel)["tree"]
    runnel.run("volume", "cp", "data:/a", "other:/a")
    assert "(0 B stored)" in runnel.err
    runnel.run("volume", "cp", "data:/f", "other:/g")
    assert paths(runnel, "other:/") == {"a/x", "a/sub/y", "f", "g", "a/a/x", "a/a/sub/y"}
    assert not list(data.glob("s/*")) and not list(tmp_path.glob("elsewhere/other/s/*"))


def test_a_copy_between_volumes_that_was_killed_goes_on(runnel, tmp_path):
    runnel.run("volume", "create", "from", "--store", f"file://{tmp_path}/store")
    runnel.run("volume", "put", tree(tmp_path / "source", long_put()), "from")
    runnel.run("volume", "create", "to", "--store", f"file://{tmp_path}/store")
    target = tmp_path / "store/to"
    copy = runnel.start("volume", "cp", "from:/", "to:/")
    runnel.until(lambda: len(packs(target)) >= 2)
    copy.send_signal(signal.SIGKILL)
    copy.communicate()
    assert copy.returncode == -signal.SIGKILL, "it ended before: make the folder larger"
    assert not runnel.json("volume", "versions", "to")["versions"]
    runnel.run("volume", "cp", "from:/", "to:/")
    assert "that an interrupted put had stored" in runnel.err
    assert newest(runnel, "to")["tree"] == newest(runnel, "from")["tree"]


def test_a_sync_removes_no_volume_and_no_home(runnel, tmp_path):
    """What it removes is in earlier versions of the volume it comes of, and other volumes are not."""
    source = tree(tmp_path / "source", {"a": b"1", "head": b"{}", "p/zz": b"x"})
    for volume in ("data", "other"):
        runnel.run("volume", "create", volume)
        runnel.run("volume", "put", source, volume)
    place = runnel.home / "volumes" / "other"
    before = sorted(path for path in place.rglob("*"))
    runnel.run("volume", "sync", "data:/", place, "--delete", code=1)
    assert f"{place} is the place of a volume, which would be lost" in runnel.err
    runnel.run("volume", "sync", "data:/", place / "p", "--delete", code=1)
    assert sorted(path for path in place.rglob("*")) == before
    project = tmp_path / "project"
    runnel.run("volume", "sync", "data:/", project)
    (project / "deep").mkdir()
    theirs = Runnel(project / "deep", answers=tmp_path / "answers")
    theirs.run("run", "--", "true")
    theirs.rest()
    runnel.run("volume", "create", "third", "--store", f"file://{project}/store")
    for inside, what in (("deep/home", "a home of Runnel"), ("store", "a store of volumes")):
        kept = sorted(path for path in (project / inside).rglob("*"))
        for words in ([], ["--delete"]):
            runnel.run("volume", "sync", "data:/", project, *words, code=1)
            assert f"{project / inside} is {what}, which would be lost" in runnel.err
        assert sorted(path for path in (project / inside).rglob("*")) == kept
        shutil.rmtree(project / inside.split("/")[0])
    runnel.run("volume", "sync", "data:/", project)


def test_sync_makes_a_folder_as_the_volume_is(runnel, data, tmp_path):
    copy = tmp_path / "copy"
    runnel.run("volume", "sync", "data:/", copy)
    assert same(tmp_path / "source", copy)
    tree(copy, {"a/more": b"5", "new/z": b"6", "f": b"other"})
    said = runnel.run("volume", "sync", "data:/", copy, "--dry-run")
    assert said == "would remove a/more\nwould remove new\nwould replace f\n"
    assert (copy / "a/more").exists(), "nothing is changed by saying so"
    told = runnel.json("volume", "sync", "data:/", copy)
    assert told["removed"] == ["a/more", "new"] and told["files"] == 1, "what is the same is not got again"
    assert same(tmp_path / "source", copy)
    assert runnel.run("volume", "sync", "data:/", copy, "--dry-run") == "nothing to do\n"


def test_sync_removes_nothing_from_a_folder_that_it_does_not_know(runnel, data, tmp_path):
    work = tree(tmp_path / "work", {"thesis.tex": b"years", "a/x": b"1"})
    outside = tree(tmp_path / "outside", {"file": b"1"})
    (work / "link").symlink_to(outside)
    runnel.run("volume", "sync", "data:/", work, code=1)
    assert "never synced with data" in runnel.err and "--dry-run" in runnel.err and "--delete" in runnel.err
    assert (work / "thesis.tex").exists() and not (work / "f").exists()
    assert "would remove thesis.tex" in runnel.run("volume", "sync", "data:/", work, "--dry-run")
    runnel.run("volume", "sync", "data:/", work, "--delete")
    assert same(tmp_path / "source", work) and (outside / "file").exists(), "and nothing behind a link"
    (work / "again").write_bytes(b"")
    runnel.run("volume", "sync", "data:/", work)
    assert "removed again" in runnel.err, "now it is known"
    (work / "again").write_bytes(b"")
    runnel.run("volume", "create", "other")
    runnel.run("volume", "put", tmp_path / "source", "other")
    runnel.run("volume", "sync", "other:/", work, code=1)


def test_sync_replaces_nothing_in_a_folder_that_it_does_not_know(runnel, data, tmp_path):
    work = tree(tmp_path / "work", {"f": b"a week of work"})
    runnel.run("volume", "sync", "data:/", work, code=1)
    assert "never synced with data" in runnel.err and "replace 1 entry" in runnel.err and "--delete" in runnel.err
    assert (work / "f").read_bytes() == b"a week of work"
    assert "would replace f\n" in runnel.run("volume", "sync", "data:/", work, "--dry-run")
    runnel.run("volume", "sync", "data:/", work, "--delete")
    assert same(tmp_path / "source", work)


def test_sync_knows_a_volume_and_a_folder_by_more_than_their_names(runnel, data, tmp_path):
    work = tmp_path / "work"
    runnel.run("volume", "sync", "data:/a", work)

    def refuses(*source):
        tree(work, {"mine": b"years"})
        runnel.run("volume", "sync", *source, work, code=1)
        assert "never synced with data" in runnel.err and (work / "mine").read_bytes() == b"years"

    elsewhere = ("--store", f"file://{tmp_path}/elsewhere")
    runnel.run("volume", "create", "other", *elsewhere)
    (tmp_path / "elsewhere/other").rename(tmp_path / "elsewhere/data")
    runnel.run("volume", "put", tmp_path / "source", "data", *elsewhere)
    refuses("data:/a", *elsewhere)
    refuses("data:/")
    runnel.run("volume", "sync", "data:/a", work)
    assert not (work / "mine").exists(), "the one that it was synced with"
    work.rename(tmp_path / "away")
    refuses("data:/a")


def test_sync_makes_a_volume_as_the_folder_is(runnel, data, tmp_path):
    source = tmp_path / "source"
    (source / "f").unlink()
    tree(source, {"f/now/a/folder": b"7"})
    said = runnel.run("volume", "sync", source, "data:/", "--dry-run")
    assert said == "would write f\nwould write f/now\nwould write f/now/a\nwould write f/now/a/folder\n"
    (source / "a/x").unlink()
    assert "would remove a/x\n" in runnel.run("volume", "sync", source, "data:/", "--dry-run")
    runnel.run("volume", "sync", source, "data:/", "-m", "synced")
    assert paths(runnel, "data:/") == {"a/sub/y", "f/now/a/folder"} and newest(runnel)["message"] == "synced"
    assert runnel.run("volume", "sync", source, "data:/", "--dry-run") == "nothing to do\n"
    for words, said in (((source, tmp_path / "b"), "NAME:/PATH"), (("data:/", "other:/"), "volume cp"),
                        ((source / "a/sub/y", "data:/"), "sync takes folders")):
        runnel.run("volume", "sync", *words, code=2)
        assert said in runnel.err


def test_rm_takes_several_paths_into_one_version(runnel, data):
    runnel.run("volume", "rm", "-r", "data:/a/sub/y", "data:/f", "data:/a/sub")
    assert paths(runnel, "data:/") == {"a/x"}
    assert len(runnel.json("volume", "versions", "data")["versions"]) == 2


def test_a_clone_begins_with_a_version_and_goes_its_own_way(runnel, data, tmp_path):
    version = runnel.run("volume", "clone", "data", "mine").strip()
    assert version == newest(runnel)["version"] == newest(runnel, "mine")["version"]
    assert not packs(data.parent / "mine"), "nothing is copied"
    runnel.run("volume", "put", tree(tmp_path / "more", {"g": b"4"}), "mine")
    runnel.run("volume", "rm", "data:/a")
    runnel.run("volume", "gc", "data", "--keep", "0s")
    assert paths(runnel, "data:/") == {"f"} and paths(runnel, "mine:/") == {"a/x", "a/sub/y", "f", "g"}
    assert runnel.run("volume", "cat", "mine:/a/sub/y") == "2"
    assert runnel.run("volume", "fsck", "mine").endswith("whole\n")
    assert runnel.json("volume", "show", "data")["clones"] == ["mine"]
    assert runnel.json("volume", "show", "mine")["clone_of"] == "data"
    code, said = rebuild(f"file://{tmp_path}/store/mine", tmp_path / "rebuilt")
    assert code == 0 and (tmp_path / "rebuilt/a/x").read_bytes() == b"1", said
    for words, code, said in (
        (("data", "mine"), 1, "there is a volume mine already"), (("data:/a", "other"), 2, "runnel volume cp data:/a"),
        (("data@none", "other"), 1, "has no version 'none'"), (("data", "No"), 2, "1 to 63 of a-z"),
    ):
        runnel.run("volume", "clone", *words, code=code)
        assert said in runnel.err


def test_a_snapshot_and_a_restore_bring_back_what_was_removed(runnel, data):
    before = packs(data)
    version = runnel.run("volume", "snapshot", "data", "good").strip()
    runnel.run("volume", "snapshot", "data", "good", code=1)
    assert "has the tag 'good'" in runnel.err
    tree_hash = newest(runnel)["tree"]
    runnel.run("volume", "rm", "data:/a")
    runnel.run("volume", "mv", "data:/f", "data:/g")
    runnel.run("volume", "restore", "data@good:/a/sub")
    assert paths(runnel, "data:/") == {"a/sub/y", "g"}
    runnel.run("volume", "restore", "data@good:/a/x", "data:/found")
    assert runnel.run("volume", "cat", "data:/found") == "1"
    assert runnel.json("volume", "restore", f"data@{version}", "-m", "back")["tree"] == tree_hash
    assert newest(runnel)["message"] == "back" and packs(data) == before
    for words, code, said in (
        (("data:/a",), 2, "restore needs the version"), (("data@good:/none",), 1, "there is no 'none'"),
        (("data@good", "other:/"), 2, "runnel volume cp data@good"), (("data@good:/f", "data:/"), 2, "a folder"),
    ):
        runnel.run("volume", "restore", *words, code=code)
        assert said in runnel.err


def test_a_volume_is_deleted_when_nobody_needs_it(runnel, tmp_path):
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", tree(tmp_path / "source", {"a": b"1" * 5_000}), "data")
    runnel.run("volume", "delete", "data:/a", "--yes", code=2)
    assert "runnel volume rm data:/a" in runnel.err
    runnel.run("volume", "delete", "data@latest", "--yes", code=2)
    runnel.run("volume", "delete", "data", code=2)
    assert "volume data has 1 version, the newest of 1 file" in runnel.err and "runnel volume delete data --yes" in runnel.err
    runnel.run("volume", "clone", "data", "mine")
    runnel.run("volume", "delete", "data", "--yes", code=1)
    assert "volume data is in use: cloned as mine" in runnel.err
    assert runnel.run("volume", "cat", "mine:/a") == "1" * 5_000
    assert runnel.run("volume", "delete", "mine", "--yes").startswith("deleted volume mine: ")
    runnel.run("volume", "gc", "data")
    held = runnel.up("volumes: {a: data}\nrun: sleep 1000\n")
    runnel.run("volume", "delete", "data", "--yes", code=1)
    assert held in runnel.err, runnel.err
    runnel.run("cancel", held)
    runnel.wait(held)
    runnel.until(lambda: not list((runnel.home / "mounts").glob("data@*")), timeout=60)
    runnel.run("volume", "delete", "data", "--yes")
    assert runnel.json("volume", "list")["volumes"] == []
    files = {path for path in (runnel.home / "volumes").rglob("*") if path.is_file() and ".runnel" not in path.parts}
    assert files == {runnel.home / "volumes/data/head", runnel.home / "volumes/mine/head"}
    runnel.run("volume", "ls", "data", code=1)
    assert "volume data was deleted" in runnel.err
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", tmp_path / "source", "data")
    assert runnel.run("volume", "cat", "data:/a") == "1" * 5_000


def test_a_home_forgets_a_volume_whose_store_is_gone(runnel, tmp_path):
    store = f"file://{tmp_path}/store"
    runnel.run("volume", "create", "data", "--store", store)
    runnel.run("volume", "put", tree(tmp_path / "source", {"a": b"1"}), "data")
    (tmp_path / "store").rename(tmp_path / "away")
    listed = runnel.run("volume", "list")
    assert listed.splitlines()[1].split() == ["data", "?", "?", store], "nobody knows how many versions it has"
    assert runnel.run("volume", "forget", "data") == f"forgot volume data; {store} keeps it\n"
    assert runnel.json("volume", "list")["volumes"] == []
    runnel.run("volume", "forget", "data", code=1)
    assert "knows no volume data" in runnel.err
    (tmp_path / "away").rename(tmp_path / "store")
    runnel.run("volume", "create", "data", "--store", store)
    assert runnel.run("volume", "cat", "data:/a") == "1"


def test_an_export_to_where_the_volume_is_leaves_it_whole(runnel, tmp_path):
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", tree(tmp_path / "source", {"head": b"mine"}), "data")
    for words in (("export", "data", f"file://{runnel.home}/volumes/data"), ("get", "data", runnel.home / "volumes/data")):
        runnel.run("volume", *words, code=1)
        assert "is the head of a volume" in runnel.err and "choose another place" in runnel.err
    assert runnel.run("volume", "cat", "data:/head") == "mine"


def test_a_damaged_volume_can_be_deleted(runnel, tmp_path):
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", tree(tmp_path / "source", {"a": b"1"}), "data")
    head = runnel.home / "volumes/data/head"
    record = json.loads(head.read_text())
    head.write_text(json.dumps({**record, "manifest": ""}, separators=(",", ":"), sort_keys=True))
    for manifest in (runnel.home / "volumes/data/v").iterdir():
        manifest.unlink()
    runnel.run("volume", "ls", "data", code=1)
    runnel.run("volume", "delete", "data", code=2)
    assert "its versions are not known" in runnel.err and "--yes" in runnel.err, runnel.err
    runnel.run("volume", "delete", "data", "--yes")
    runnel.run("volume", "create", "data")


def test_a_volume_whose_disk_is_away_is_not_made_anew(runnel, tmp_path):
    store, away = tmp_path / "disk", tmp_path / "away"
    runnel.run("volume", "create", "data", "--store", f"file://{store}")
    runnel.run("volume", "put", tree(tmp_path / "source", {"a": b"1"}), "data")
    store.rename(away)
    runnel.run("volume", "create", "data", code=1)
    assert "there is no such folder" in runnel.err and "runnel volume forget data" in runnel.err, runnel.err
    away.rename(store)
    assert runnel.run("volume", "cat", "data:/a") == "1"
    store.rename(away)
    runnel.run("volume", "forget", "data")
    runnel.run("volume", "create", "data", "--store", f"file://{store}")
