"""Volumes by the command, in a folder of the home."""

import filecmp
import os


def tree(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def same(one, other):
    compared = filecmp.dircmp(one, other)
    below = all(same(one / name, other / name) for name in compared.common_dirs)
    return below and not (compared.left_only or compared.right_only or compared.diff_files or compared.funny_files)


def test_a_folder_comes_back_as_it_was_put(runnel, tmp_path):
    files = {f"many/{number}": os.urandom(3000) for number in range(300)}
    source = tree(tmp_path / "source", {**files, "text": b"hello\n" * 10_000, "empty": b""})
    assert runnel.run("volume", "create", "data") == "data\n"
    first = runnel.run("volume", "put", source, "data", "-m", "the first").strip()
    assert "put 302 files" in runnel.err
    runnel.run("volume", "get", "data", tmp_path / "copy")
    assert same(source, tmp_path / "copy")
    assert runnel.run("volume", "put", source, "data").strip() == first, "what changes nothing is no version"
    assert runnel.run("volume", "cat", "data:/text") == "hello\n" * 10_000
    assert runnel.run("volume", "ls", "data") == "empty\nmany/\ntext\n"

    second = runnel.run("volume", "rm", "data:/many").strip()
    assert runnel.run("volume", "ls", "data") == "empty\ntext\n"
    assert len(runnel.run("volume", "ls", f"data@{first[:8]}:/many").splitlines()) == 300
    versions = runnel.json("volume", "versions", "data")["versions"]
    assert [each["version"] for each in versions] == [second, first]
    assert versions[1]["message"] == "the first" and versions[1]["files"] == 302
    runnel.run("volume", "get", f"data@{first}:/many/7", tmp_path / "seven")
    assert (tmp_path / "seven").read_bytes() == files["many/7"]


def test_a_put_takes_what_changed_and_mirrors_when_asked(runnel, tmp_path):
    source = tree(tmp_path / "source", {"a": b"1", "b/c": b"2"})
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    runnel.run("volume", "put", source, "data:/in")
    (source / "a").unlink()
    runnel.run("volume", "put", source, "data:/in")
    assert runnel.run("volume", "ls", "data:/in") == "a\nb/\n"
    runnel.run("volume", "put", "--mirror", source, "data:/in")
    assert runnel.run("volume", "ls", "data:/in") == "b/\n"
    assert (tmp_path / "store/data/head").exists(), "where it was created is remembered"
    assert [volume["name"] for volume in runnel.json("volume", "list")["volumes"]] == ["data"]


def test_mistakes_are_named(runnel, tmp_path):
    runnel.run("volume", "create", "data")
    for words, code, told in (
        (("create", "data"), 1, "there is a volume data already"),
        (("create", "Data"), 2, "1 to 63 of a-z"),
        (("create", "more", "--store", "gs://bucket"), 2, "not in this version"),
        (("ls", "other"), 1, "runnel volume create other"),
        (("ls", "data@nothing"), 1, "has no version 'nothing'"),
        (("cat", "data:/none"), 1, "there is no 'none'"),
        (("cat", "data:none"), 2, "has a path without '/'"),
        (("rm", "data"), 2, "rm needs the path"),
        (("put", tmp_path / "none", "data"), 1, "none"),
        (("put", tmp_path, "data@v1"), 2, "leave out @v1"),
    ):
        runnel.run("volume", *words, code=code)
        assert told in runnel.err, (words, runnel.err)


def test_a_damaged_pack_is_told_and_serves_nothing(runnel, tmp_path):
    source = tree(tmp_path / "source", {"file": os.urandom(5000)})
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", source, "data")
    pack = next((runnel.home / "volumes/data/p").iterdir())
    content = bytearray(pack.read_bytes())
    content[1000] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(content)
    assert runnel.run("volume", "cat", "data:/file", code=1) == ""
    assert f"p/{pack.name}" in runnel.err and "damaged" in runnel.err
    runnel.run("volume", "get", "data", tmp_path / "copy", code=1)
    assert not (tmp_path / "copy/file").exists()
