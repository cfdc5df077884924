"""Volumes on a store whose network is bad, which goes away, or which does not know us.

Whatever happens, a command ends in its time, with what is right or with an error.
"""

import contextlib
import os
import threading
import time

import pytest

from conftest import kill
from store_proxy import StoreProxy
from test_clock import LIBRARY
from test_mount import Mounts, pytestmark as mountable, read_anew
from test_s3 import cloud, server  # noqa: F401  Fixtures.
from test_volume import long_put, same, tree

pytestmark = mountable
AWAY_S = float(os.environ.get("RUNNEL_AWAY_S", "8"))  # 60 is the full-size run.
STALL_S = float(os.environ.get("RUNNEL_STALL_S", "2"))  # 30 is the full-size run.
COMMAND_S = 150  # Retries end after 90.
FAULTS = {"500": 0.2, "503": 0.2, "reset": 0.2, "lost": 0.2, "truncate": 0.2, "stall": 0.1, "flip": 0.1}


@pytest.fixture
def proxy(cloud, server):  # noqa: F811
    """All that `cloud` asks of the server goes through it."""
    made = StoreProxy(server.port, f"stall={int(STALL_S * 1000)}ms")
    cloud.env["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{made.port}"
    yield made
    made.stop()


@pytest.fixture
def mounts(cloud, proxy, tmp_path):  # noqa: F811
    made = Mounts(cloud, tmp_path)
    yield made
    proxy.tell("faults=", "back")  # What serves a mount ends its session.
    made.end()


def tried(cloud, *words):  # noqa: F811
    """Whether a command has done it; else it says why, in words for people."""
    cloud.run("volume", *words, code=None, timeout=COMMAND_S)
    assert cloud.code in (0, 1, 2), (words, cloud.code, cloud.err)
    if cloud.code == 0:
        return True
    last = cloud.err.strip().splitlines()[-1]
    assert cloud.err.strip() and "CHECK" not in cloud.err and "Sanitizer" not in cloud.err, cloud.err
    print("an error:", words, last)
    return False


def done(cloud, *words):  # noqa: F811
    """The same until it is done, which is soon."""
    assert any(tried(cloud, *words) for _ in range(5)), cloud.err


def right_or_not_there(source, copy):
    """All files that are in the copy are what they are in the source."""
    there = [path for path in copy.rglob("*") if path.is_file()]
    return all(path.read_bytes() == (source / path.relative_to(copy)).read_bytes() for path in there)


def read_all(folder, names):
    """What can be read of a mount, past the kernel's memory."""
    found = {}
    for name in names:
        with contextlib.suppress(OSError):
            found[name] = read_anew(folder / name)
    return found


@pytest.mark.parametrize("kind", FAULTS)
def test_over_a_bad_network_all_is_right_or_an_error(cloud, proxy, mounts, tmp_path, kind):  # noqa: F811
    files = {f"many/{number:03}": os.urandom(3000) for number in range(300)} | {"long": os.urandom(40_000_000)}
    source = tree(tmp_path / "source", files)
    done(cloud, "create", "data", "--store", "s3://bkt/volumes")
    proxy.tell(f"faults={kind}:{FAULTS[kind]}")
    done(cloud, "put", source, "data")
    (source / "many/000").write_bytes(b"changed")
    done(cloud, "put", source, "data")
    for number in range(3):
        copy = tmp_path / f"copy-{number}"
        if tried(cloud, "get", "data", copy):
            assert same(source, copy)
        else:
            assert not copy.exists() or right_or_not_there(source, copy)
    tried(cloud, "fsck", "data")
    folder = tmp_path / "mnt"
    folder.mkdir()
    done(cloud, "mount", "-d", "data", folder)
    names = [path.relative_to(source) for path in source.rglob("*") if path.is_file()]
    got = read_all(folder, names)
    assert all(content == (source / name).read_bytes() for name, content in got.items())
    assert len(got) >= 0.9 * len(names), f"{len(names) - len(got)} of {len(names)} could not be read"
    assert proxy.counts()["faults"][kind] > 0
    proxy.tell("faults=")
    assert tried(cloud, "fsck", "data"), cloud.err
    assert tried(cloud, "get", "data", tmp_path / "last") and same(source, tmp_path / "last")
    assert same(source, folder)


def test_a_byte_that_changes_on_the_way_is_read_again(cloud, proxy, mounts, tmp_path):  # noqa: F811
    source = tree(tmp_path / "source", {f"{number}": os.urandom(3000) for number in range(100)} | {"long": os.urandom(20_000_000)})
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    proxy.tell("faults=PUT/flip@2")
    cloud.run("volume", "put", source, "data")
    for number in range(1, 9):  # Each of the first answers once, so that nothing is spared.
        proxy.tell(f"faults=GET/flip@{number}")
        cloud.run("volume", "get", "data", tmp_path / f"copy-{number}")
        assert same(source, tmp_path / f"copy-{number}")
        proxy.tell(f"faults=GET/flip@{number}")
        folder = mounts.make("data", f"mnt-{number}")
        assert same(source, folder)
    proxy.tell("faults=")


def test_who_reads_and_who_puts_wait_for_a_store_that_is_away(cloud, proxy, mounts, tmp_path):  # noqa: F811
    source = tree(tmp_path / "source", {"known": os.urandom(3_000_000), "other/long": os.urandom(40_000_000)})
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", source, "data")
    folder = mounts.make("data")
    more = tree(tmp_path / "more", long_put())
    put = cloud.start("volume", "put", more, "data:/more")
    cloud.until(lambda: proxy.counts()["methods"].get("PUT", {"up": 0})["up"] > 60 << 20)
    known = (folder / "known").read_bytes()  # Just now: what nobody uses goes out of memory after six seconds.
    proxy.tell("away")
    begin = time.monotonic()
    got = []
    reader = threading.Thread(target=lambda: got.append(read_anew(folder / "other/long")))
    reader.start()
    while time.monotonic() < begin + AWAY_S:
        begun = time.monotonic()
        assert (folder / "known").read_bytes() == known and read_anew(folder / "known") == known
        assert time.monotonic() - begun < 1, "what is here was waited for"
        time.sleep(0.2)
    assert reader.is_alive() and put.poll() is None, "they did not wait"
    proxy.tell("back")
    reader.join(timeout=60)
    assert got == [(source / "other/long").read_bytes()]
    out, err = put.communicate(timeout=COMMAND_S)
    assert put.returncode == 0, (out, err)
    cloud.run("volume", "get", "data:/more", tmp_path / "copy")
    assert same(more, tmp_path / "copy")


def test_a_warm_up_by_the_server_ends_with_either_of_both(cloud, proxy, mounts, tmp_path):  # noqa: F811
    source = tree(tmp_path / "source", {f"{number}": os.urandom(1_000_000) for number in range(60)})
    options = ("--cache", tmp_path / "cache", "--cache-size", "200MiB")
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", source, "data")

    def begun():
        """A warm-up of a minute and more, once it is under way."""
        proxy.tell("rate=500kB", "zero")
        asking = cloud.start("volume", "warmup", "data", *options)
        cloud.until(lambda: proxy.counts()["methods"].get("GET", {"down": 0})["down"] > 0 and cloud.pids())
        time.sleep(1)
        assert asking.poll() is None
        return asking

    folder = mounts.make("data", "mnt", *options)
    asking = begun()
    asking.kill()
    asking.communicate()
    cloud.run("volume", "umount", folder)
    cloud.until(lambda: not mounts.processes("serve"), timeout=20)  # With nothing left to do.
    proxy.tell("rate=0")

    mounts.make("data", "mnt", *options)
    asking = begun()
    kill(mounts.server())
    _, err = asking.communicate(timeout=COMMAND_S)
    assert asking.returncode == 1 and "the server of mounts has ended meanwhile" in err, err
    assert "another process" not in err
    proxy.tell("rate=0")
    assert cloud.json("volume", "warmup", "data", *options)["files"] == 60
    assert same(source, folder)


def test_a_store_that_stays_away_is_an_error_in_time(cloud, proxy, tmp_path):  # noqa: F811
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    proxy.tell("away")
    begin = time.monotonic()
    for words in (("ls", "data"), ("get", "data", tmp_path / "copy"), ("put", tmp_path, "data"), ("fsck", "data")):
        cloud.run("volume", *words, code=1)
        assert f"127.0.0.1:{proxy.port}" in cloud.err, cloud.err
    assert time.monotonic() - begin < 60, "of a store that nobody has ever reached"


VERBS = {
    "ls": ("ls", "data"), "put": ("put", "source", "data"), "get": ("get", "data", "copy"), "fsck": ("fsck", "data"),
    "gc": ("gc", "data"), "mount": ("mount", "-d", "data", "mnt"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_each_command_says_who_is_not_known(cloud, proxy, verb):  # noqa: F811
    (cloud.work / "mnt").mkdir()
    source = tree(cloud.work / "source", {"a": b"1"})
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", source, "data")
    right = dict(cloud.env)

    def said(**changes):
        cloud.env.clear()
        cloud.env.update({**right, **changes})
        begin = time.monotonic()
        cloud.run("volume", *VERBS[verb], code=None)
        assert cloud.code != 0 and time.monotonic() - begin < 20
        cloud.env.clear()
        cloud.env.update(right)
        return cloud.err

    assert "AWS_SECRET_ACCESS_KEY" in said(AWS_SECRET_ACCESS_KEY="another")
    assert "AWS_ACCESS_KEY_ID" in said(AWS_ACCESS_KEY_ID="nobody")
    if LIBRARY.exists():
        assert "set this machine's clock" in said(LD_PRELOAD=str(LIBRARY), FAKETIME="-2h", FAKETIME_DONT_FAKE_MONOTONIC="1")


def test_a_bucket_that_has_gone_is_named(cloud, proxy, server):  # noqa: F811
    source = tree(cloud.work / "source", {"a": b"1"})
    cloud.run("volume", "create", "data", "--store", "s3://bkt/volumes")
    cloud.run("volume", "put", source, "data")
    server.bucket.rename(server.bucket.with_name("elsewhere"))
    for words in (("ls", "data"), ("put", source, "data"), ("get", "data", "copy")):
        cloud.run("volume", *words, code=None)
        assert cloud.code != 0 and "bkt" in cloud.err and "no such bucket" in cloud.err, cloud.err
