"""Objects and volumes on a real S3 server."""

import os
import subprocess
import threading
import time

import pytest

from conftest import ROOT
from s3_server import S3Server
from test_volume import long_put, rebuild, same, tree

OBJECT_TEST = ROOT / "build/release/bin/object_test"


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


def test_the_suite_of_stores_holds_on_a_real_server(server):
    env = {**os.environ, **server.env, "RUNNEL_TEST_STORE": "s3://bkt/suite"}
    done = subprocess.run([OBJECT_TEST, "--gtest_filter=*/s3"], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:]
    ran = int(done.stdout.split("[  PASSED  ] ")[1].split()[0])
    assert ran >= 10, done.stdout[-4000:]


def test_a_folder_comes_back_from_a_bucket(cloud, tmp_path):
    files = {f"many/{number}": os.urandom(3000) for number in range(500)}
    source = tree(tmp_path / "source", {**files, "long": os.urandom(20_000_000), "empty": b""})
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", source, "data")
    cloud.run("volume", "get", "data", tmp_path / "copy")
    assert same(source, tmp_path / "copy")
    code, said = rebuild("s3://bkt/volumes/data", tmp_path / "rebuilt", env=cloud.env)
    assert code == 0 and same(source, tmp_path / "rebuilt"), said
    assert cloud.run("volume", "ls", "data") == "empty\nlong\nmany/\n"
    told = cloud.json("volume", "stat", "data")
    assert (told["files"], told["versions"], told["sessions"]) == (502, 1, 0) and told["objects"] < 10, told
    assert told["stored_bytes"] >= 20_000_000 and told["usd"]["month"] > 0.0004
    assert "at S3's list prices: $0.0005 a month" in cloud.run("volume", "stat", "data")
    cloud.run("volume", "rm", "data:/many")
    assert cloud.run("volume", "ls", "data") == "empty\nlong\n"


def test_nothing_stays_in_a_bucket_of_what_was_killed_or_dropped(cloud, server, tmp_path):
    source = tree(tmp_path / "source", {f"{number}": os.urandom(3000) for number in range(500)})
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", source, "data")
    for number in range(200):
        (source / f"{number}").unlink()
    cloud.run("volume", "put", "--mirror", source, "data")
    long = tree(tmp_path / "long", long_put())
    packs = len(list(server.bucket.glob("volumes/data/p/*")))
    put = cloud.start("volume", "put", long, "data:/long")
    cloud.until(lambda: len(list(server.bucket.glob("volumes/data/p/*"))) > packs)
    put.kill()
    put.communicate()
    said = [cloud.json("volume", "gc", "data", "--keep", "0s") for _ in range(2)]
    assert sum(each["sessions"] for each in said) == 1, said
    left = sorted(path.parent.name for path in server.bucket.glob("volumes/data/*/*") if path.is_file())
    assert left.count("p") == 1 and left.count("v") == 1 and "s" not in left, left
    size = sum(path.stat().st_size for path in server.bucket.glob("volumes/data/p/*"))
    assert size < 300 * 3200, "of the 500 files 300 are left"
    cloud.run("volume", "get", "data", tmp_path / "copy")
    assert same(source, tmp_path / "copy")


def test_a_put_goes_on_when_the_server_is_back(cloud, server, tmp_path):
    source = tree(tmp_path / "source", long_put())
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    put = cloud.start("volume", "put", source, "data")
    cloud.until(lambda: any(server.bucket.glob("volumes/data/p/*")))
    server.kill()
    assert put.poll() is None, "it ended before the server did: make the folder larger"
    back = threading.Timer(1, server.start)
    back.start()
    out, err = put.communicate(timeout=120)
    back.join()
    assert put.returncode == 0, (out, err)
    cloud.run("volume", "get", "data", tmp_path / "copy")
    assert same(source, tmp_path / "copy")


def test_a_flipped_byte_is_named_and_never_given(cloud, server, tmp_path):
    files = {"a": os.urandom(50_000), "b": os.urandom(50_000)}
    source = tree(tmp_path / "source", files)
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", source, "data")
    pack = max((path for path in server.bucket.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    content = bytearray(pack.read_bytes())
    content[content.index(files["b"][:64]) + 100] ^= 1
    pack.write_bytes(content)
    cloud.run("volume", "get", "data", tmp_path / "copy", code=1)
    assert "/b" in cloud.err and "damaged" in cloud.err, cloud.err
    assert not (tmp_path / "copy/b").exists()


@pytest.mark.parametrize(("change", "told"), [
    ({"AWS_SECRET_ACCESS_KEY": "another"}, "AWS_SECRET_ACCESS_KEY"),
    ({"AWS_ACCESS_KEY_ID": "nobody"}, "AWS_ACCESS_KEY_ID"),
    ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "127.0.0.1:1"),
])
def test_who_may_not_or_cannot_reach_it_is_told_why(cloud, change, told):
    cloud.env.update(change)
    begin = time.monotonic()
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes", code=1)
    assert told in cloud.err, cloud.err
    assert time.monotonic() - begin < 60


def test_a_bucket_that_is_not_there_is_named(cloud):
    cloud.run("volume", "create", "data", "--store", "s3://nobucket/volumes", code=2)
    assert "nobucket" in cloud.err, cloud.err
