"""Versions as streams: dump, load."""

import gzip
import io
import json
import os
import signal
import subprocess
import tarfile

import pytest

from s3_server import S3Server
from test_volume import long_put, many_kinds, same, shape, tree  # noqa: F401


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "s3"
    folder.mkdir()
    made = S3Server(folder)
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture
def cloud(runnel, server):
    """`runnel` with the keys of the server."""
    runnel.env.update(server.env)
    return runnel


@pytest.fixture
def data(runnel, tmp_path):
    """An empty volume `data` in a folder."""
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    return tmp_path / "store/data"


def tree_of(runnel, name):
    return runnel.json("volume", "show", f"{name}@latest")["tree"]


def versions(runnel, name):
    return runnel.json("volume", "versions", name)["versions"]


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
    flipped[whole.index(b"1111") + 100] ^= 1
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


def test_a_dump_that_was_killed_leaves_no_half_file(runnel, data, tmp_path):
    runnel.run("volume", "put", tree(tmp_path / "source", long_put()), "data")
    dump = runnel.start("volume", "dump", "data", tmp_path / "dump")
    part = tmp_path / "dump.runnel-part"
    runnel.until(lambda: dump.poll() is not None or (part.exists() and part.stat().st_size > 0))
    dump.send_signal(signal.SIGINT)
    dump.communicate()
    assert dump.returncode != 0, "it ended before: make the folder larger"
    assert not (tmp_path / "dump").exists()
    runnel.run("volume", "dump", "data", tmp_path / "dump")
    assert not part.exists()
