"""Volumes by the command, in a folder of the home."""

import filecmp
import os
import shutil
import subprocess
import sys
import time

import pytest

from conftest import ROOT

REBUILD = ROOT / "examples/volume/rebuild.py"


def tree(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def long_put():
    """Files for a put that goes on for a while after its first pack is there, also on a fast disk."""
    noise = os.urandom(100_000)
    return {f"f/{number}": number.to_bytes(4, "little") + noise for number in range(3000)}


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
    runnel.run("volume", "get", "data:/text", tmp_path / "copy/many")
    assert (tmp_path / "copy/many/text").read_bytes() == b"hello\n" * 10_000, "a file goes into a folder"
    assert runnel.run("volume", "ls", "data") == "empty\nmany/\ntext\n"

    second = runnel.run("volume", "rm", "data:/many").strip()
    assert runnel.run("volume", "ls", "data") == "empty\ntext\n"
    assert len(runnel.run("volume", "ls", f"data@{first[:8]}:/many").splitlines()) == 300
    versions = runnel.json("volume", "versions", "data")["versions"]
    assert [each["version"] for each in versions] == [second, first]
    assert runnel.run("volume", "versions", "data", "-o", "name") == f"{second}\n{first}\n"
    assert runnel.run("volume", "list", "-o", "name") == "data\n"
    assert versions[1]["message"] == "the first" and versions[1]["files"] == 302
    runnel.run("volume", "get", f"data@{first}:/many/7", tmp_path / "seven")
    assert (tmp_path / "seven").read_bytes() == files["many/7"]


def test_folders_come_back_with_their_modes_and_times(runnel, tmp_path):
    def attributes(path):
        return path.stat().st_mode & 0o7777, path.stat().st_mtime_ns

    source = tree(tmp_path / "source", {"a": b"1", "deep/er/b": b"2"})
    for name, mode in (("deep/er", 0o750), ("deep", 0o711), ("", 0o755)):
        (source / name).chmod(mode)
        os.utime(source / name, ns=(1_600_000_000_123_456_789 + mode,) * 2)
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", source, "data")
    runnel.run("volume", "get", "data", tmp_path / "copy")
    for name in ("", "deep", "deep/er"):
        assert attributes(tmp_path / "copy" / name) == attributes(source / name), name

    begun = time.time()
    runnel.run("volume", "put", source, "data:/on/the/way")
    runnel.run("volume", "get", "data:/on", tmp_path / "on")
    assert attributes(tmp_path / "on/the/way") == attributes(source)
    for name in ("on", "on/the"):
        mode, changed = attributes(tmp_path / name)
        assert mode == 0o755 and begun - 1 < changed / 1e9 < time.time(), name

    there = tmp_path / "there"
    there.mkdir()
    there.chmod(0o2770)
    runnel.run("volume", "get", "data", there)
    assert attributes(there)[0] == 0o2770, "a folder that was there keeps its mode"

    def mode_of_deep():
        return {each["name"]: each["mode"] for each in runnel.json("volume", "ls", "data:/on/the/way")["entries"]}["deep"]

    (source / "deep").chmod(0o700)
    runnel.run("volume", "put", source, "data:/on/the/way")
    assert mode_of_deep() == 0o711, "as it was there"
    source.chmod(0o2710)
    os.utime(source, ns=(1_500_000_000_000_000_001,) * 2)
    runnel.run("volume", "put", "--mirror", source, "data:/on/the/way")
    assert mode_of_deep() == 0o700, "as in the source"
    runnel.run("volume", "get", "data:/on/the/way", tmp_path / "mirrored")
    assert attributes(tmp_path / "mirrored") == attributes(source)


def test_ways_out_and_in_keep_the_mode_and_time_of_the_folder_itself(runnel, tmp_path):
    def is_as_put(path):
        return (path.stat().st_mode & 0o7777, path.stat().st_mtime_ns) == (0o2751, 1_600_000_000_123_456_789)

    source = tree(tmp_path / "source", {"a": b"1"})
    source.chmod(0o2751)
    os.utime(source, ns=(1_600_000_000_123_456_789,) * 2)
    for name in ("data", "copied", "imported"):
        runnel.run("volume", "create", name)
    runnel.run("volume", "sync", source, "data:/")
    runnel.run("volume", "sync", "data:/", tmp_path / "made/synced")
    runnel.run("volume", "cp", "data:/", tmp_path / "cp")
    runnel.run("volume", "export", "data", f"file://{tmp_path}/exported")
    for name in ("made/synced", "cp", "exported"):
        assert is_as_put(tmp_path / name), name

    runnel.run("volume", "cp", "data:/", "copied:/")
    subprocess.run(["tar", "--format=pax", "-C", source, "-cf", tmp_path / "source.tar", "."], check=True)
    runnel.run("volume", "import", tmp_path / "source.tar", "imported")
    for name in ("copied", "imported"):
        runnel.run("volume", "get", name, tmp_path / name)
        assert is_as_put(tmp_path / name), name

    runnel.run("volume", "cp", "data:/a", "data:/on/the/way")
    runnel.run("volume", "get", "data:/on", tmp_path / "on")
    assert (tmp_path / "on").stat().st_mtime > 1_600_000_001, "a folder on the way is of now"
    first = runnel.json("volume", "versions", "data")["versions"][-1]["version"]
    tree(source, {"b": b"2"}).chmod(0o700)
    runnel.run("volume", "sync", source, "data:/")
    runnel.run("volume", "restore", f"data@{first}")
    runnel.run("volume", "get", "data", tmp_path / "restored")
    assert is_as_put(tmp_path / "restored")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
def test_a_version_comes_out_of_a_store_that_is_mounted_read_only(runnel, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    source = tree(tmp_path / "source", {"a": b"1", "b/c": b"2"})
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", store], check=True)
    try:
        runnel.run("volume", "create", "data", "--store", f"file://{store}/volumes")
        runnel.run("volume", "put", source, "data")
        subprocess.run(["mount", "-o", "remount,ro", store], check=True)
        runnel.run("volume", "get", "data", tmp_path / "copy")
        assert same(source, tmp_path / "copy")
        runnel.run("volume", "gc", "data", code=1)
        assert "Read-only file system" in runnel.err
        runnel.run("volume", "forget", "data")
        runnel.run("volume", "create", "data", "--store", f"file://{store}/volumes")
        assert "this home knows it now" in runnel.err
        assert runnel.run("volume", "cat", "data:/b/c") == "2"
        runnel.run("volume", "create", "other", "--store", f"file://{store}/volumes", code=1)
        assert "Read-only file system" in runnel.err
    finally:
        subprocess.run(["umount", "--lazy", store], check=True)


def test_versions_that_cannot_be_read_or_have_only_a_tag_are_listed(runnel, tmp_path):
    source = tree(tmp_path / "source", {"a": b"0"})
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    ids = []
    for number in range(66):
        (source / "a").write_bytes(str(number).encode())
        ids.append(runnel.run("volume", "put", source, "data", "-o", "name").strip())
        if number == 0:
            runnel.run("volume", "tag", f"data@{ids[0]}", "first")
    assert runnel.run("volume", "versions", "data", "-o", "name").split() == [*reversed(ids[2:]), ids[0]]
    damaged = next((tmp_path / "store/data/v").glob(f"{ids[40]}-*"))
    damaged.write_bytes(damaged.read_bytes()[:-10])
    listed = runnel.json("volume", "versions", "data")["versions"]
    assert [each["version"] for each in listed if "problem" in each] == [ids[40]]
    assert f"version {ids[40]} cannot be read" in runnel.err
    assert len(listed) == 65


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


def rebuild(*words, env=None):
    """What examples/volume/rebuild.py says, which knows the store and the format's page alone."""
    done = subprocess.run([sys.executable, REBUILD, *map(str, words)], env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def many_kinds(tmp_path):
    """A folder with all that a volume can hold: pages of several heights, long files, holes, links, names of any bytes."""
    files = {f"many/{number:05}": str(number).encode() for number in range(5000)}
    long = os.urandom(70 << 20)
    source = tree(tmp_path / "source", {**files, "long": long, "text": b"hello\n" * 400_000, "empty": b"", "none/x": b"1"})
    (source / "none/x").unlink()
    (source / "link").symlink_to("many/../text")
    (source / os.fsdecode(b"new\nline-\xff")).write_bytes(b"2")
    with open(source / "sparse", "wb") as sparse:
        sparse.truncate(5 << 20)
        sparse.seek(3 << 20)
        sparse.write(b"3")
    (source / "text").chmod(0o640)
    (source / "many").chmod(0o750)
    os.utime(source / "text", ns=(10**18 + 1, 10**18 + 1))
    return source


def shape(folder):
    """Path, mode, time, target and content's hash of all below."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        what = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (stat.st_mode, stat.st_mtime_ns, hash(what))
    return found


def test_the_format_s_page_is_enough_to_rebuild_a_volume(runnel, many_kinds, tmp_path):
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    first = runnel.run("volume", "put", many_kinds, "data").strip()
    runnel.run("volume", "rm", "data:/many")
    code, said = rebuild(f"file://{tmp_path}/store/data", tmp_path / "copy", first[:6])
    assert code == 0, said
    assert shape(tmp_path / "copy") == shape(many_kinds)
    code, said = rebuild(f"file://{tmp_path}/store/data", tmp_path / "newest")
    assert code == 0 and not (tmp_path / "newest/many").exists(), said

    runnel.run("volume", "get", f"data@{first}", tmp_path / "got")
    assert shape(tmp_path / "got") == shape(many_kinds)
    pack = max((tmp_path / "store/data/p").iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(content)
    code, said = rebuild(f"file://{tmp_path}/store/data", tmp_path / "again", first)
    assert code == 1 and "damaged" in said


def test_a_tagged_version_is_rebuilt_though_those_after_it_are_gone(runnel, tmp_path):
    source = tmp_path / "source"
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    versions = [runnel.run("volume", "put", tree(source, {"file": str(number).encode()}), "data").strip()
                for number in range(4)]
    runnel.run("volume", "tag", f"data@{versions[0]}", "first")
    runnel.run("volume", "gc", "--keep", "0s", "data")
    code, said = rebuild(f"file://{tmp_path}/store/data", tmp_path / "copy", versions[0])
    assert code == 0 and (tmp_path / "copy/file").read_text() == "0", said
    code, said = rebuild(f"file://{tmp_path}/store/data", tmp_path / "gone", versions[1])
    assert code == 1 and "or its version was dropped" in said
    assert not (tmp_path / "gone").exists()


def test_a_home_that_is_moved_or_copied_has_its_own_volumes(runnel, tmp_path):
    source = tree(tmp_path / "source", {"file": b"1"})
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", source, "data")
    runnel.run("volume", "create", "far", "--store", f"file://{tmp_path}/far")
    copy, moved = tmp_path / "copy", tmp_path / "moved"
    shutil.copytree(runnel.home, copy)
    runnel.home.rename(moved)
    for home in (copy, moved):
        assert runnel.run("--home", home, "volume", "ls", "data") == "file\n"
        runnel.run("--home", home, "volume", "rm", "data:/file")
        assert runnel.run("--home", home, "volume", "ls", "data") == ""
        stores = {each["name"]: each["store"] for each in runnel.json("--home", home, "volume", "list")["volumes"]}
        assert stores == {"data": f"file://{home}/volumes", "far": f"file://{tmp_path}/far"}
    assert not runnel.home.exists(), "nobody looks for them where the home was"


def test_a_file_that_is_written_touches_no_other(runnel, tmp_path):
    """What is not whole yet has no name: other people's files, and a second get, are in nobody's way."""
    old = tree(tmp_path / "old", {"big": b"1" * 30_000_000})
    new = tree(tmp_path / "new", {"big": b"2" * 30_000_000})
    runnel.run("volume", "create", "data")
    versions = [runnel.run("volume", "put", source, "data").strip() for source in (old, new)]
    out = tmp_path / "out"
    out.mkdir()
    (out / "big.runnel-part").write_text("precious")
    os.mkfifo(out / "pipe.runnel-part")
    runnel.run("volume", "get", "data", out)
    assert (out / "big.runnel-part").read_text() == "precious"
    for _ in range(5):
        gets = [runnel.start("volume", "get", f"data@{version}", out) for version in versions * 2]
        assert [get.communicate() and get.returncode for get in gets] == [0] * 4
        assert (out / "big").read_bytes() in ((old / "big").read_bytes(), (new / "big").read_bytes())
    assert sorted(path.name for path in out.iterdir()) == ["big", "big.runnel-part", "pipe.runnel-part"]


def test_a_home_learns_of_a_volume_that_another_one_has_made(runnel, tmp_path):
    source, store = tree(tmp_path / "source", {"file": b"1"}), ("--store", f"file://{tmp_path}/shared")
    runnel.run("--home", tmp_path / "first", "volume", "create", "data", *store)
    runnel.run("--home", tmp_path / "first", "volume", "put", source, "data")
    runnel.run("volume", "ls", "data", code=1)
    assert "with --store URL where it is" in runnel.err
    assert runnel.run("volume", "create", "data", *store) == "data\n"
    assert "there already; this home knows it now" in runnel.err
    assert runnel.run("volume", "ls", "data") == "file\n"
    runnel.run("volume", "create", "data", *store, code=1)
    assert "there is a volume data already" in runnel.err
    for home in (["--home", tmp_path / "first"], []):
        runnel.run(*home, "volume", "create", "own", *(store if home else ()))
    runnel.run("volume", "create", "own", *store, code=1)
    assert "knows a volume own in file://" in runnel.err, "a name stands for one volume"
    assert runnel.json("volume", "show", "own")["store"] == f"file://{runnel.home}/volumes"


def test_mistakes_are_named(runnel, tmp_path):
    source = tree(tmp_path / "source", {"file": b"1"})
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", source, "data:/in")
    for words, code, told in (
        (("create", "data"), 1, "there is a volume data already"),
        (("create", "Data"), 2, "1 to 63 of a-z"),
        (("create", "s3://bucket/data"), 2, "write NAME --store s3://bucket/data"),
        (("put", source, "file:///data"), 2, "is a URL"),
        (("create", "more:/in"), 2, "write more"),
        (("create", "more", "--store", "gs://bucket"), 2, "not in this version"),
        (("ls", "other"), 1, "runnel volume create other"),
        (("ls", "data@nothing"), 1, "has no version 'nothing'"),
        (("cat", "data:/none"), 1, "there is no 'none'"),
        (("cat", "data:none"), 2, "has a path without '/'"),
        (("rm", "data"), 2, "rm needs the path of what is to go from the newest version; runnel volume rm data:/PATH"),
        (("rm", "data:/in/file", "other:/in"), 2, "one rm makes one version, of one volume"),
        (("rm", "data:/in/file", "data:/none"), 1, "there is no 'none'"),
        (("put", source, "data:/in/file"), 1, "remove it first: runnel volume rm data:/in/file"),
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


def test_names_of_any_length_come_back(runnel, tmp_path):
    source = tree(tmp_path / "source", {"b" * 255: b"1", "b" * 254: b"2", "zz": b"3"})
    (source / ("l" * 255)).symlink_to("zz")
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", source, "data")
    runnel.run("volume", "get", "data", tmp_path / "copy")
    assert same(source, tmp_path / "copy") and os.readlink(tmp_path / "copy" / ("l" * 255)) == "zz"


def test_a_file_that_is_got_replaces_no_pipe_and_goes_into_what_is_named_as_a_folder(runnel, tmp_path):
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", tree(tmp_path / "source", {"text": b"1"}), "data")
    os.mkfifo(tmp_path / "pipe")
    runnel.run("volume", "get", "data:/text", tmp_path / "pipe", code=1)
    assert "which a file would replace" in runnel.err and (tmp_path / "pipe").is_fifo()
    runnel.run("volume", "get", "data:/text", f"{tmp_path}/new/")
    assert (tmp_path / "new/text").read_bytes() == b"1"
    runnel.run("volume", "get", "data:/text", f"{tmp_path}/new/text/", code=1)
    assert (tmp_path / "new/text").read_bytes() == b"1"
