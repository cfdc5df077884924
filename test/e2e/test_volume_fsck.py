"""What fsck of a volume names, and how what is damaged comes back."""

import os

import pytest

from test_volume import same, tree


@pytest.fixture
def files():
    return {**{f"many/{number}": os.urandom(3000) for number in range(50)}, "long": os.urandom(4_000_000)}


@pytest.fixture
def data(runnel, tmp_path, files):
    """A volume in a folder, with two versions."""
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    source = tree(tmp_path / "source", files)
    runnel.run("volume", "put", source, "data")
    tree(source, {"later": os.urandom(10_000)})
    runnel.run("volume", "put", source, "data")
    assert runnel.run("volume", "fsck", "data") == "read 52 files, 4.0 MiB of 2 versions: whole\n"
    return tmp_path / "store/data"


def largest(folder):
    found = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    found.chmod(0o600)
    return found


def damages(runnel):
    return runnel.json("volume", "fsck", "data", code=1)["damages"]


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_a_flipped_chunk_is_named_with_its_file_and_comes_back_by_a_put(runnel, data, files, tmp_path):
    pack = largest(data / "p")
    content = pack.read_bytes()
    flip(pack, content.index(files["many/7"][:64]) + 100)
    flip(pack, content.index(files["long"][2_000_000:2_000_064]))
    found = damages(runnel)
    assert sorted(damage["path"] for damage in found) == ["long", "many/7"], found
    assert all(pack.name in damage["what"] for damage in found)

    runnel.run("volume", "get", "data", tmp_path / "copy", code=1)
    assert "all others are there" in runnel.err and "volume fsck data" in runnel.err
    left = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert left == {*files, "later"} - {"long", "many/7"}, "nothing that is damaged, and all that is not"

    version = runnel.run("volume", "put", tmp_path / "source", "data").strip()
    assert len(damages(runnel)) == 2, "without --repair a put takes over the chunk that is there"
    assert "put the damaged files again" in runnel.run("volume", "fsck", "--repair", "data", code=1)
    assert runnel.run("volume", "put", tmp_path / "source", "data").strip() == version, "the same, at other places"
    runnel.run("volume", "get", "data", tmp_path / "again")
    assert same(tmp_path / "source", tmp_path / "again")
    first = runnel.json("volume", "versions", "data")["versions"][1]["version"]
    assert {damage["version"] for damage in damages(runnel)} == {first}, "the version before still needs the damaged one"
    said = runnel.run("volume", "fsck", "data", code=1)
    assert "the newest version is whole" in said and "--repair" not in said and "gc --keep 0s data" in said
    runnel.run("volume", "gc", "data", "--keep", "0s")
    assert "whole" in runnel.run("volume", "fsck", "data")


def test_a_pack_that_is_cut_or_gone_names_all_its_files(runnel, data, files):
    pack = largest(data / "p")
    os.truncate(pack, pack.read_bytes().index(files["many/7"][:64]))
    cut = {damage["path"] for damage in damages(runnel)}
    assert "many/7" in cut and len(cut) < len(files), "what lies before the cut is whole"
    pack.unlink()
    assert {damage["path"] for damage in damages(runnel)} == set(files)


@pytest.mark.parametrize("kind", ["i", "v"])
@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
def test_a_damaged_index_is_named_and_nothing_wrong_is_given(runnel, data, tmp_path, kind, how):
    versions = list((data / "v").iterdir())
    newest = runnel.json("volume", "versions", "data")["versions"][0]["version"]
    for path in (data / kind).iterdir():
        path.chmod(0o600)
        if how == "flip":
            flip(path, path.stat().st_size // 2)
        elif how == "cut":
            os.truncate(path, path.stat().st_size // 2)
        else:
            path.unlink()
    found = damages(runnel)
    assert found and all(damage["path"] == "" for damage in found)
    named = {damage["version"] for damage in found}
    assert named <= {each.name[:16] for each in versions} and newest in named
    assert len(named) == len(versions) or kind == "i", "half of a bundle may be what an earlier version needs no more"
    packs = sorted((data / "p").iterdir())
    runnel.run("volume", "gc", "data", code=1)
    assert sorted((data / "p").iterdir()) == packs, "gc deletes nothing of a volume that it cannot read"


def test_a_head_that_is_damaged_or_of_another_volume_is_refused(runnel, data, tmp_path):
    head = data / "head"
    text = head.read_text()
    for damaged, said in ((text[:100], "damaged"), (text.replace('"format":1', '"format":7'), "format 7"),
                          (text.replace('"min_reader":1', '"min_reader":2'), "needs a build")):
        head.write_text(damaged)
        for words in (("fsck", "data"), ("ls", "data"), ("put", tmp_path / "source", "data"), ("gc", "data")):
            runnel.run("volume", *words, code=None)
            assert runnel.code != 0 and said in runnel.err, (words, runnel.err)
    head.write_text(text)
    assert "whole" in runnel.run("volume", "fsck", "data")


def test_a_version_that_is_no_more_the_newest_needs_no_tree_of_chunks(runnel, data, tmp_path):
    """Puts take chunks over from the newest alone, so gc keeps no other's: that is no damage."""
    runnel.run("volume", "rm", "data:/many/7")
    bundles = set((data / "i").iterdir())
    assert runnel.json("volume", "gc", "data", "--keep", "0s")["rewritten"] == 0
    assert set((data / "i").iterdir()) - bundles, "a tree of chunks without those of what was removed, by itself"
    runnel.run("volume", "put", tree(tmp_path / "more", {"more": os.urandom(5000)}), "data")
    assert runnel.json("volume", "gc", "data")["objects"] > 0
    assert runnel.run("volume", "fsck", "data").endswith(" of 2 versions: whole\n")
