"""What `runnel volume` does with names, versions and other places: show."""

import pytest

from test_volume import tree


@pytest.fixture
def data(runnel, tmp_path):
    """A volume `data` in a folder, with one version."""
    source = tree(tmp_path / "source", {"a/x": b"1", "a/sub/y": b"2", "f": b"3"})
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    runnel.run("volume", "put", source, "data", "-m", "the first")
    return tmp_path / "store/data"


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
