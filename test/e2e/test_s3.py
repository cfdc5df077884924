"""Objects and volumes on a real S3 server."""

import json
import os
import signal
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


def test_a_clone_in_a_bucket_reads_what_it_shares_where_it_is(cloud, server, tmp_path):
    source = tree(tmp_path / "source", {f"{number}": os.urandom(3000) for number in range(500)})
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", source, "data")
    cloud.run("volume", "clone", "data", "mine")
    assert cloud.json("volume", "show", "mine")["store"] == "s3://bkt/volumes"
    cloud.run("volume", "put", "--mirror", tree(tmp_path / "other", {"a": b"1"}), "data")
    cloud.run("volume", "gc", "data", "--keep", "0s")
    cloud.run("volume", "get", "mine", tmp_path / "copy")
    assert same(source, tmp_path / "copy")
    assert not list(server.bucket.glob("volumes/mine/p/*"))


def test_of_a_deleted_volume_a_head_stays(cloud, server, tmp_path):
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", tree(tmp_path / "source", {"a": os.urandom(50_000)}), "data")
    cloud.run("volume", "delete", "data", "--yes")
    assert [path.name for path in server.bucket.rglob("*") if path.is_file()] == ["head"]
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", tmp_path / "source", "data")


@pytest.mark.parametrize("key", ["../theirs/head", "p/../../theirs/head"])
def test_a_volume_of_others_cannot_have_objects_beside_it_deleted(cloud, server, tmp_path, key):
    """Clients of HTTP take `evil/../theirs/head` for another path, and the keys are those of whoever collects garbage."""
    source = tree(tmp_path / "source", {"a": os.urandom(50_000)})
    for volume in ("evil", "theirs"):
        cloud.run("volume", "create", volume, "--store", "s3://bkt/volumes")
        cloud.run("volume", "put", source, volume)
    evil = server.bucket / "volumes/evil"
    listed = "g/0123456789abcdef"
    (evil / "g").mkdir(exist_ok=True)
    (evil / listed).write_text(f"runnel condemned 1\nkey {key}\nend\n")
    head = json.loads((evil / "head").read_text())
    (evil / "head").write_text(json.dumps({**head, "condemned": listed, "collections": 1, "swept": False}))
    cloud.run("volume", "gc", "evil")
    assert cloud.run("volume", "ls", "theirs") == "a\n"
    (evil / "head").write_text(json.dumps({**head, "condemned": key, "swept": True}))
    cloud.run("volume", "delete", "evil", "--yes", code=None)
    assert "is no list of garbage" in cloud.err, cloud.err
    assert cloud.run("volume", "ls", "theirs") == "a\n"


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


def test_a_store_that_does_not_answer_keeps_no_other_from_the_list(cloud, server):
    cloud.run("volume", "create", "far", "--store", "s3://bkt/volumes")
    cloud.run("volume", "create", "near")
    server.process.send_signal(signal.SIGSTOP)
    try:
        told = cloud.run("volume", "list")
    finally:
        server.process.send_signal(signal.SIGCONT)
    far, near = [line.split() for line in told.splitlines()[1:]]
    assert far[:2] == ["far", "?"] and near[0] == "near", told
    assert "volume far: its store has not answered within 5" in cloud.err, cloud.err


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


# --- Objects that stay where they are.

@pytest.fixture
def raw(cloud, server, tmp_path):
    """A bucket with 1,000 plain objects, and a volume in a folder that links them."""
    files = {f"many/{number:04}": os.urandom(300) for number in range(998)}
    files |= {"long": os.urandom(5_000_001), "with space + plus": b"1", "empty": b""}
    cloud.run("volume", "create", "source")
    cloud.run("volume", "put", tree(tmp_path / "source", files), "source")
    cloud.run("volume", "export", "source", "s3://bkt/plain")
    cloud.run("volume", "create", "raw")
    made = cloud.json("volume", "import", "--link", "s3://bkt/plain", "raw")
    assert made["files"] == 1001 and not list((cloud.home / "volumes/raw").glob("p/*")), "nothing was copied"
    return server.bucket / "plain"


def test_a_bucket_is_read_as_it_is(cloud, raw, tmp_path):
    assert "objects of other buckets" in cloud.run("volume", "stat", "raw") and cloud.json("volume", "stat", "raw")["linked"]
    cloud.run("volume", "get", "raw", tmp_path / "copy")
    assert same(raw, tmp_path / "copy")
    assert cloud.run("volume", "cat", "raw:/with space + plus") == "1"
    version = cloud.json("volume", "versions", "raw")["versions"][0]["version"]
    assert cloud.run("volume", "import", "--link", "s3://bkt/plain", "raw").strip() == version, "nothing has changed"
    code, said = rebuild(f"file://{cloud.home}/volumes/raw", tmp_path / "rebuilt", env=cloud.env)
    assert code == 0 and same(raw, tmp_path / "rebuilt"), said
    cloud.run("volume", "create", "packed")
    cloud.run("volume", "cp", "raw:/", "packed:/")
    cloud.run("volume", "fsck", "packed")
    cloud.run("volume", "get", "packed", tmp_path / "unpacked")
    assert same(raw, tmp_path / "unpacked")
    cloud.run("volume", "dump", "raw", tmp_path / "dump", code=2)
    assert "which a dump cannot have" in cloud.err
    cloud.run("volume", "warmup", "raw", "--cache", tmp_path / "cache", code=2)
    assert "keeps no objects of other buckets" in cloud.err
    cloud.run("volume", "export", "raw", tmp_path / "raw.tar")


def test_an_object_that_was_replaced_is_an_error_that_names_it(cloud, server, raw, tmp_path):
    cloud.run("volume", "fsck", "raw")
    cloud.run("volume", "create", "other")
    cloud.run("volume", "put", tree(tmp_path / "other", {"0007": os.urandom(300)}), "other")
    cloud.run("volume", "export", "other", "s3://bkt/plain/many")
    (raw / "many/0008").unlink()
    for path, said in (("many/0007", "is another object than the one that was linked"), ("many/0008", "no object")):
        cloud.run("volume", "cat", f"raw:/{path}", code=1)
        assert said in cloud.err and f"s3://bkt/plain/{path}" in cloud.err, cloud.err
    damaged = cloud.run("volume", "fsck", "raw", code=1)
    assert "many/0007" in damaged and "many/0008" in damaged and "many/0009" not in damaged
    cloud.run("volume", "get", "raw", tmp_path / "copy", code=1)
    assert len(list((tmp_path / "copy/many").iterdir())) == 996, "all others are there"
    cloud.run("volume", "import", "--link", "--mirror", "s3://bkt/plain", "raw")
    cloud.run("volume", "get", "raw", tmp_path / "again")
    assert same(raw, tmp_path / "again")


def test_a_sync_sees_what_was_replaced_in_the_same_second(cloud, tmp_path):
    cloud.run("volume", "create", "source")
    cloud.run("volume", "create", "raw")
    for content in (b"old bytes", b"NEW BYTES"):
        cloud.run("volume", "put", tree(tmp_path / content.decode(), {"a": content}), "source")
        cloud.run("volume", "export", "source", "s3://bkt/plain")
        cloud.run("volume", "import", "--link", "s3://bkt/plain", "raw")
        cloud.run("volume", "sync", "raw:/", tmp_path / "copy")
        assert (tmp_path / "copy/a").read_bytes() == content


def test_what_cannot_be_linked_is_refused(cloud, tmp_path):
    cloud.run("volume", "create", "raw")
    for source in (f"file://{tmp_path}", tmp_path / "files.tar"):
        cloud.run("volume", "import", "--link", source, "raw", code=2)
        assert "cannot be linked" in cloud.err and "s3://BUCKET/PREFIX" in cloud.err
    for link in (["--link"], []):
        cloud.run("volume", "import", *link, "--mirror", "s3://bkt/mistyped", "raw", code=1)
        assert "there is no object below s3://bkt/mistyped" in cloud.err
    assert cloud.json("volume", "versions", "raw")["versions"] == []


@pytest.mark.skipif(not os.path.exists("/dev/fuse") or os.geteuid() != 0, reason="only root may mount here")
def test_a_job_reads_linked_objects_with_its_keys(cloud, raw):
    job = cloud.ended("volumes: {raw: raw}\nrun: cat $RUNNEL_VOLUME_RAW/many/* | wc -c; env | grep -c AWS_ || true")
    assert cloud.run("logs", job).split() == ["299400", "0"], cloud.run("logs", job)
