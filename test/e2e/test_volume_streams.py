"""Versions as streams and plain objects: dump, load, export, import."""

import gzip
import io
import json
import os
import pathlib
import signal
import subprocess
import tarfile

import pytest

from test_s3 import cloud, server  # noqa: F401  Fixtures.
from test_volume import long_put, many_kinds, same, shape, tree  # noqa: F401


@pytest.fixture
def data(runnel, tmp_path):
    """An empty volume `data` in a folder."""
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    return tmp_path / "store/data"


def heed_interrupts():
    """In a child: a shell lets what it starts in the background ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def tree_of(runnel, name):
    return runnel.json("volume", "show", f"{name}@latest")["tree"]


def versions(runnel, name):
    return runnel.json("volume", "versions", name)["versions"]


def names(runnel, target):
    return [entry["name"] for entry in runnel.json("volume", "ls", target)["entries"]]


# --- Dumps.

def test_a_dump_loads_into_another_store_as_the_same_tree(cloud, data, many_kinds, tmp_path):  # noqa: F811
    cloud.run("volume", "put", many_kinds, "data", "-m", "of all kinds")
    told = cloud.json("volume", "dump", "data", tmp_path / "data.dump")
    assert told["files"] == 5005 and not list(data.glob("s/*"))
    made = cloud.json("volume", "load", tmp_path / "data.dump", "other", "--store", "s3://bkt/volumes")
    assert made["tree"] == tree_of(cloud, "data") and made["message"] == "of all kinds"
    cloud.run("volume", "get", "other", tmp_path / "copy")
    assert shape(tmp_path / "copy") == shape(many_kinds), "times, too"
    cloud.run("volume", "load", tmp_path / "data.dump", "other", code=1)
    assert "has versions already" in cloud.err


def test_a_dump_goes_through_a_pipe(runnel, data, tmp_path):
    runnel.run("volume", "put", tree(tmp_path / "source", {"a/b": b"1", "c": os.urandom(300_000)}), "data")
    dump = subprocess.Popen([runnel.binary, "volume", "dump", "data", "-"], env=runnel.env, stdout=subprocess.PIPE)
    done = subprocess.run([runnel.binary, "volume", "load", "-", "piped"], env=runnel.env, stdin=dump.stdout,
                          capture_output=True, text=True)
    dump.stdout.close()
    assert dump.wait() == 0 and done.returncode == 0, done.stderr
    assert tree_of(runnel, "piped") == tree_of(runnel, "data")
    runnel.run("volume", "dump", "data", "-", "-o", "json", code=2)
    assert "stdout is the stream" in runnel.err


def test_any_tar_reads_a_dump_and_a_compressed_one_loads(runnel, data, tmp_path):
    source = tree(tmp_path / "source", {"a/b": b"1", "c": b"22"})
    runnel.run("volume", "put", source, "data")
    runnel.run("volume", "dump", "data", tmp_path / "dump")
    subprocess.run(["tar", "-xf", tmp_path / "dump", "-C", tmp_path], check=True)
    assert same(source, tmp_path / "tree")
    assert json.loads((tmp_path / "runnel-dump.json").read_text())["tree"] == tree_of(runnel, "data")
    (tmp_path / "dump.gz").write_bytes(gzip.compress((tmp_path / "dump").read_bytes()))
    runnel.run("volume", "load", tmp_path / "dump.gz", "unpacked")
    assert tree_of(runnel, "unpacked") == tree_of(runnel, "data")


def changed_header(dump, change):
    """The dump with another first entry."""
    out = io.BytesIO()
    with tarfile.open(dump) as old, tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as new:
        for entry in old:
            content = old.extractfile(entry).read() if entry.isreg() else b""
            if entry.name == "runnel-dump.json":
                content = json.dumps({**json.loads(content), **change}).encode()
                entry.size = len(content)
            new.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def test_what_is_no_whole_dump_is_refused_and_publishes_nothing(runnel, data, tmp_path):
    runnel.run("volume", "put", tree(tmp_path / "source", {"a": b"1" * 5000, "b": b"2"}), "data")
    runnel.run("volume", "dump", "data", tmp_path / "dump")
    whole = (tmp_path / "dump").read_bytes()
    flipped = bytearray(whole)
    flipped[whole.index(b"1" * 5000) + 100] ^= 1
    bad = tmp_path / "bad"
    for content, code, said in (
        (whole[: len(whole) // 2], 1, "cut"), (whole[:-4096], 1, "cut"), (bytes(flipped), 1, "it was changed"),
        (changed_header(tmp_path / "dump", {"format": 2}), 2, "reads formats up to 1"),
        (changed_header(tmp_path / "dump", {"tree": "0" * 64}), 1, "another tree than its beginning says"),
        (b"", 1, "no tar"), (b"text\n" * 1000, 1, "no tar"),
    ):
        bad.write_bytes(content)
        runnel.run("volume", "load", bad, "loaded", code=code)
        assert said in runnel.err and str(bad) in runnel.err, (said, runnel.err)
    if runnel.run("volume", "show", "loaded", code=None):
        assert versions(runnel, "loaded") == []
    runnel.run("volume", "load", tmp_path / "dump", "loaded")
    assert tree_of(runnel, "loaded") == tree_of(runnel, "data"), "what failed is in nobody's way"
    runnel.run("volume", "create", "empty")
    runnel.run("volume", "dump", "empty", tmp_path / "none", code=1)
    assert not (tmp_path / "none").exists()


def has_begun(dump, folder):
    """Whether a process has written to a file in the folder, which has no name yet."""
    try:
        opened = [pathlib.Path(f"/proc/{dump.pid}/fd/{name}") for name in os.listdir(f"/proc/{dump.pid}/fd")]
        return any(os.readlink(each).startswith(f"{folder}/#") and each.stat().st_size > 0 for each in opened)
    except OSError:
        return False


def test_a_dump_that_was_killed_leaves_no_half_file(runnel, data, tmp_path):
    runnel.run("volume", "put", tree(tmp_path / "source", long_put()), "data")
    dump = runnel.start("volume", "dump", "data", tmp_path / "dump", preexec_fn=heed_interrupts)
    while dump.poll() is None and not has_begun(dump, tmp_path):
        pass  # In a moment it has ended.
    dump.send_signal(signal.SIGINT)
    dump.communicate()
    assert dump.returncode != 0, "it ended before: make the folder larger"
    assert not list(tmp_path.glob("*dump*")) and not list(tmp_path.glob(".*"))
    runnel.run("volume", "dump", "data", tmp_path / "dump")


# --- Tars.

def test_a_tar_goes_out_and_comes_in(runnel, data, many_kinds, tmp_path):  # noqa: F811
    runnel.run("volume", "put", many_kinds, "data")
    runnel.run("volume", "export", "data", tmp_path / "out.tar")
    (tmp_path / "unpacked").mkdir()
    subprocess.run(["tar", "-xf", tmp_path / "out.tar", "-C", tmp_path / "unpacked"], check=True)
    found = shape(tmp_path / "unpacked")
    assert found == shape(many_kinds)
    runnel.run("volume", "create", "again")
    runnel.run("volume", "import", tmp_path / "out.tar", "again")
    assert tree_of(runnel, "again") == tree_of(runnel, "data")
    runnel.run("volume", "export", "data:/text", tmp_path / "one.tar")
    with tarfile.open(tmp_path / "one.tar") as one:
        assert one.getnames() == ["text"] and one.extractfile("text").read() == b"hello\n" * 400_000


@pytest.mark.parametrize("packed", ["w", "w:gz", "w:xz", "w:bz2"])
def test_tars_of_others_come_in(runnel, data, tmp_path, packed):
    source = tree(tmp_path / "source", {"a/b": b"1", "long": os.urandom(3_000_000), "empty": b""})
    (source / "link").symlink_to("a/b")
    os.link(source / "a/b", source / "twin")
    with tarfile.open(tmp_path / "x", packed) as tar:
        tar.add(source, ".")
    runnel.run("volume", "import", tmp_path / "x", "data:/in", "-m", "from a tar")
    runnel.run("volume", "get", "data:/in", tmp_path / "copy")
    assert same(source, tmp_path / "copy") and os.readlink(tmp_path / "copy/link") == "a/b"
    assert versions(runnel, "data")[0]["message"] == "from a tar" and len(versions(runnel, "data")) == 1


def test_a_tar_by_zstd_comes_in(runnel, data, tmp_path):
    source = tree(tmp_path / "source", {"a": b"1" * 100_000})
    with open(tmp_path / "x.tar.zst", "wb") as out:
        done = subprocess.run(["tar", "--zstd", "-cf", "-", "-C", source, "."], stdout=out)
    if done.returncode != 0:
        pytest.skip("this tar finds no zstd")
    runnel.run("volume", "import", tmp_path / "x.tar.zst", "data")
    runnel.run("volume", "get", "data", tmp_path / "copy")
    assert same(source, tmp_path / "copy")


def made_tar(path, entries):
    """A tar of (name, what): bytes are a file's, a text is a link's target, a list has a type."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, what in entries:
            entry = tarfile.TarInfo(name)
            if isinstance(what, bytes):
                entry.size = len(what)
            elif isinstance(what, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, what
            else:
                entry.type, = what
            tar.addfile(entry, io.BytesIO(what) if isinstance(what, bytes) else None)
    return path


@pytest.mark.parametrize(("entries", "said"), [
    ([("a", b"1"), ("../x", b"2")], "'../x'"),
    ([("a/../../x", b"2")], "'a/../../x'"),
    ([("/etc/passwd", b"2")], "it is absolute"),
    ([("out", "/tmp"), ("out/x", b"2")], "'out' is no folder"),
    ([("out", "/tmp"), ("out/deep/x", b"2")], "out/deep"),
    ([("file", b"1"), ("file/x", b"2")], "'file' is no folder"),
    ([("ok", b"1"), ("n" * 256, b"2")], "over 255 bytes"),
])
def test_a_tar_that_leads_out_is_refused_whole(runnel, data, tmp_path, entries, said):
    bad = made_tar(tmp_path / "bad.tar", entries)
    runnel.run("volume", "import", bad, "data", code=None)
    assert runnel.code != 0 and said in runnel.err, runnel.err
    assert versions(runnel, "data") == [] and not list(data.glob("s/*"))


def test_what_is_strange_in_a_tar_comes_in_or_is_passed_over(runnel, data, tmp_path):
    long = "n" * 255
    made_tar(tmp_path / "x.tar", [
        ("twice", b"first"), ("twice", b"the last one wins"), ("new\nline", b"1"), (long, b"2"),
        ("dev", [tarfile.CHRTYPE]), ("disk", [tarfile.BLKTYPE]), ("pipe", [tarfile.FIFOTYPE]),
        ("./dots/./x", b"3"), ("no/parents/here", b"4"),
    ])
    runnel.run("volume", "import", tmp_path / "x.tar", "data")
    for name in ("dev", "disk", "pipe"):
        assert f"warning: {name} is neither a file, a folder nor a link" in runnel.err
    assert runnel.run("volume", "cat", "data:/twice") == "the last one wins"
    assert names(runnel, "data") == ["dots", "new\nline", long, "no", "twice"]
    assert runnel.run("volume", "cat", "data:/dots/x") == "3"
    assert runnel.run("volume", "cat", "data:/no/parents/here") == "4"


def test_a_cut_tar_makes_no_version(runnel, data, tmp_path):
    made_tar(tmp_path / "x.tar", [("a", b"1" * 3000), ("b", b"2" * 3000)])
    whole = (tmp_path / "x.tar").read_bytes()
    zipped = gzip.compress(os.urandom(50_000) + whole)
    for content in (whole[:2000], whole[:1024 + 3072], whole[:6000], zipped[:-20], b"", b"no tar"):
        (tmp_path / "cut").write_bytes(content)
        runnel.run("volume", "import", tmp_path / "cut", "data", code=1)
        assert f"{tmp_path}/cut is no tar, or is damaged or cut" in runnel.err
    assert versions(runnel, "data") == []
    with open(tmp_path / "x.tar", "rb") as stream:
        done = subprocess.run([runnel.binary, "volume", "import", "-", "data"], env=runnel.env, stdin=stream,
                              capture_output=True, text=True)
    assert done.returncode == 0 and len(versions(runnel, "data")) == 1, done.stderr


# --- Plain objects.

def test_objects_go_out_to_a_bucket_and_come_back(cloud, server, data, tmp_path):
    files = {f"many/{number}": os.urandom(300) for number in range(300)}
    files |= {"long": os.urandom(9_000_000), "empty": b"", "with space + plus": b"1", "ü/日本": b"2", "a=b&c?d#e%f": b"3"}
    source = tree(tmp_path / "source", files)
    (source / "link").symlink_to("long")
    cloud.run("volume", "put", source, "data")
    told = cloud.json("volume", "export", "data", "s3://bkt/plain/objects")
    assert told["files"] == 305 and "left out 1 link" in cloud.err
    (source / "link").unlink()
    assert same(source, server.bucket / "plain/objects"), "one object for each file"
    cloud.run("volume", "create", "back", "--store", "s3://bkt/volumes")
    made = cloud.json("volume", "import", "s3://bkt/plain/objects", "back:/in")
    assert made["files"] == 305 and len(versions(cloud, "back")) == 1
    cloud.run("volume", "get", "back:/in", tmp_path / "copy")
    assert same(source, tmp_path / "copy")
    cloud.run("volume", "export", "data:/long", "s3://bkt/single")
    assert (server.bucket / "single/long").read_bytes() == files["long"]


def test_objects_of_a_folder_go_out_and_come_in(runnel, data, tmp_path):
    source = tree(tmp_path / "source", {"a/b": b"1", "c": b"2"})
    (source / "link").symlink_to("c")
    runnel.run("volume", "import", f"file://{source}", "data:/in")
    runnel.run("volume", "export", "data:/in", f"file://{tmp_path}/out")
    assert shape(tmp_path / "out") == shape(source)
    runnel.run("volume", "export", "data:/in/a/b", f"file://{tmp_path}/one")
    assert (tmp_path / "one/b").read_bytes() == b"1"


def test_mistakes_at_importing_and_exporting_are_named(runnel, data, tmp_path):
    runnel.run("volume", "put", tree(tmp_path / "source", {"a": b"1"}), "data")
    for words, code, said in (
        (("export", "data", tmp_path / "x"), 2, "write FILE.tar"),
        (("export", "data", "gs://bkt/x"), 2, "not in this version"),
        (("export", "data:/none", tmp_path / "x.tar"), 1, "there is no 'none'"),
        (("import", tmp_path / "none.tar", "data"), 1, "none.tar"),
        (("import", f"file://{tmp_path}/none", "data"), 1, "none"),
        (("import", tmp_path / "x.tar", "data@v1"), 2, "leave out @v1"),
        (("dump", "data:/a", tmp_path / "x"), 2, "export NAME:/PATH FILE.tar"),
        (("load", tmp_path / "none", "new"), 1, "none"),
    ):
        runnel.run("volume", *words, code=code)
        assert said in runnel.err, (words, runnel.err)
    assert not (tmp_path / "x.tar").exists()
