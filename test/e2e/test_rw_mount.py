"""Mounts that are written to: what programs may do there, what becomes of it, and of it when processes die."""

import contextlib
import errno
import mmap
import os
import pathlib
import random
import re
import shutil
import sqlite3
import stat
import subprocess
import threading
import time

import pytest

from conftest import kill
from test_mount import ASKS_AGAIN, data, is_mounted, mounts, pytestmark, versions  # noqa: F401  Fixtures and marks.
from test_volume import same, tree


@pytest.fixture
def folder(runnel, mounts):  # noqa: F811
    """A mount of an empty volume `data`, to be written to."""
    runnel.run("volume", "create", "data")
    return mounts.make("data", "mnt", "--mode", "rw")


def got(runnel, tmp_path, name="got"):
    """The newest version, out of the store."""
    target = tmp_path / name
    runnel.run("volume", "get", "data", target)
    return target


def publish(runnel, folder):
    return runnel.json("volume", "publish", folder)["version"]


def test_what_is_written_is_there_and_becomes_a_version(runnel, folder, tmp_path):
    source = tree(tmp_path / "source", {f"many/{number:03}": os.urandom(3000) for number in range(200)}
                  | {"long": os.urandom(5_000_000), "empty": b"", "deep/er/file": b"x"})
    (source / "link").symlink_to("deep/er/file")
    (source / "script").write_text("#!/bin/sh\necho ran\n")
    (source / "script").chmod(0o755)
    os.utime(source / "long", ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
    subprocess.run(["cp", "-a", f"{source}/.", folder], check=True)
    assert same(source, folder)
    assert os.stat(folder / "long").st_mtime_ns == 1_600_000_000_123_456_789
    assert subprocess.check_output([folder / "script"]) == b"ran\n"
    assert publish(runnel, folder) == versions(runnel)[0]
    assert same(source, got(runnel, tmp_path)) and same(source, folder)
    runnel.run("volume", "umount", folder)
    assert not os.listdir(folder)


def test_without_a_word_it_is_published_soon(runnel, folder):
    (folder / "file").write_text("bytes")
    runnel.until(lambda: versions(runnel))
    assert runnel.run("volume", "cat", "data:/file") == "bytes"
    version = publish(runnel, folder)
    assert publish(runnel, folder) == version, "nothing has changed"


def test_who_unmounts_has_all_published(runnel, folder):
    (folder / "file").write_text("bytes")
    runnel.run("volume", "umount", folder)
    assert runnel.run("volume", "cat", "data:/file") == "bytes"


def test_whoever_unmounts_it_all_is_published(runnel, folder):
    (folder / "file").write_text("bytes")
    subprocess.run(["umount", folder], check=True)
    runnel.until(lambda: versions(runnel))
    assert runnel.run("volume", "cat", "data:/file") == "bytes"


def test_it_goes_on_from_the_newest_version(runnel, data, mounts, tmp_path):  # noqa: F811
    folder = mounts.make("data", "mnt", "--mode", "rw")
    assert same(data, folder)
    for change in (data, folder):
        (change / "many/0007").unlink()
        (change / "many/0008").rename(change / "renamed")
        (change / "deep/er/file").rename(change / "text")
        with open(change / "long", "r+b") as file:
            file.seek(1_234_567)
            file.write(b"changed in its midst")
            file.truncate(4_000_000)
        (change / "new").mkdir()
        os.link(change / "renamed", change / "new/second name")
        (change / "script").chmod(0o700)
    assert same(data, folder)
    publish(runnel, folder)
    assert same(data, got(runnel, tmp_path)) and same(data, folder)
    runnel.run("volume", "umount", folder)
    folder = mounts.make("data", "mnt", "--mode", "rw")
    assert same(data, folder)
    assert os.stat(folder / "renamed").st_ino == os.stat(folder / "new/second name").st_ino
    (folder / "text").unlink()
    (data / "text").unlink()
    publish(runnel, folder)
    assert same(data, got(runnel, tmp_path, "again"))


def test_what_a_disk_refuses_is_refused(folder):
    (folder / "file").write_text("x")
    (folder / "full/of").mkdir(parents=True)
    refusals = {
        errno.EEXIST: [lambda: os.mkdir(folder / "file"), lambda: os.open(folder / "file", os.O_CREAT | os.O_EXCL)],
        errno.ENOENT: [lambda: os.unlink(folder / "nothing"), lambda: os.rename(folder / "nothing", folder / "x")],
        errno.ENOTEMPTY: [lambda: os.rmdir(folder / "full")],
        errno.EISDIR: [lambda: os.unlink(folder / "full"), lambda: os.rename(folder / "file", folder / "full")],
        errno.ENOTDIR: [lambda: os.rmdir(folder / "file"), lambda: os.rename(folder / "full", folder / "file")],
        errno.EINVAL: [lambda: os.rename(folder / "full", folder / "full/of/itself")],
        errno.ENAMETOOLONG: [lambda: os.mkdir(folder / ("n" * 256))],
        errno.EPERM: [lambda: os.mkfifo(folder / "pipe"), lambda: os.link(folder / "full", folder / "second")],
        errno.EOPNOTSUPP: [lambda: os.setxattr(folder / "file", "user.x", b"y")],
    }
    for number, tries in refusals.items():
        for attempt in tries:
            with pytest.raises(OSError) as refused:
                attempt()
            assert refused.value.errno == number


def test_a_file_that_is_open_outlives_its_name(runnel, folder):
    with open(folder / "file", "w+b") as file:
        file.write(b"before")
        file.flush()
        (folder / "file").unlink()
        publish(runnel, folder)
        file.write(b" and after")
        file.seek(0)
        assert file.read() == b"before and after"
        assert os.fstat(file.fileno()).st_nlink == 0
    assert not os.listdir(folder)
    publish(runnel, folder)
    assert runnel.run("volume", "ls", "data") == ""


def test_a_version_has_a_file_as_it_was_closed_last(runnel, folder):
    (folder / "file").write_text("closed")
    with open(folder / "file", "w") as file:
        file.write("half of what is to")
        file.flush()
        assert (folder / "file").read_text() == "half of what is to"
        publish(runnel, folder)
        assert runnel.run("volume", "cat", "data:/file") == "closed"
        os.fsync(file.fileno())
        publish(runnel, folder)
        assert runnel.run("volume", "cat", "data:/file") == "half of what is to"
        file.write(" be")
    publish(runnel, folder)
    assert runnel.run("volume", "cat", "data:/file") == "half of what is to be"


def test_mapped_pages_are_written(runnel, folder):
    with open(folder / "file", "w+b") as file:
        file.truncate(3 * mmap.PAGESIZE)
        with mmap.mmap(file.fileno(), 0) as mapped:
            mapped[5000:5005] = b"words"
            mapped.flush()
    assert (folder / "file").read_bytes()[5000:5005] == b"words"
    publish(runnel, folder)
    assert runnel.run("volume", "cat", "data:/file")[5000:5005] == "words"


def test_who_removes_while_listing_misses_no_name(folder):
    for number in range(3000):
        (folder / f"{number:05}").touch()
    with os.scandir(folder) as entries:
        for entry in entries:
            os.unlink(entry.path)
    assert not os.listdir(folder)
    shutil.copytree("/usr/include/linux", folder / "tree")
    shutil.rmtree(folder / "tree")


def test_git_and_sqlite_work_there(runnel, folder):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", folder / "repository"]
    subprocess.run(["git", "init", "-q", folder / "repository"], check=True)
    for commit in range(5):
        (folder / "repository/file").write_text(f"{commit}\n" * 1000)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", str(commit)], check=True)
    subprocess.run([*git, "gc", "-q"], check=True)
    subprocess.run([*git, "fsck", "--strict"], check=True)
    with contextlib.closing(sqlite3.connect(folder / "rows.db")) as rows:
        for mode in ("delete", "wal"):
            assert rows.execute(f"pragma journal_mode={mode}").fetchone() == (mode,)
            rows.execute("create table if not exists t (n integer primary key, text)")
            for number in range(100):
                rows.execute("insert into t (text) values (?)", (str(number) * 100,))
                rows.commit()
        assert rows.execute("pragma integrity_check").fetchone() == ("ok",)
        assert rows.execute("select count(*) from t").fetchone() == (200,)
    publish(runnel, folder)


def test_one_mount_at_a_time_and_on_the_newest_version(runnel, data, mounts):  # noqa: F811
    folder = mounts.make("data", "mnt", "--mode", "rw")
    other = mounts.folder / "other"
    other.mkdir()
    runnel.run("volume", "mount", "-d", "--mode", "rw", "data", other, code=1)
    assert "is written to by another mount" in runnel.err
    runnel.run("volume", "mount", "-d", "--mode", "rw", f"data@{versions(runnel)[0]}", other, code=2)
    assert "leave out @" in runnel.err
    assert same(data, mounts.make("data", "other")) and same(data, folder), "read-only beside it"


@pytest.mark.skipif(not ASKS_AGAIN, reason="before Linux 6.9 what was not answered is lost")
def test_whoever_writes_does_not_notice_that_the_server_dies(runnel, folder, mounts, tmp_path):  # noqa: F811
    wanted = tmp_path / "wanted"
    wanted.mkdir()
    errors = []
    stop = threading.Event()

    def work(name):
        """Changes a folder of its own, and one of the disk alike."""
        dice = random.Random(name)
        try:
            for place in (folder, wanted):
                (place / name).mkdir()
            with open(folder / name / "log", "wb") as log, open(wanted / name / "log", "wb") as wanted_log:
                number = 0
                while not stop.is_set():
                    number += 1
                    bytes = dice.randbytes(dice.randrange(1, 20_000))
                    for file in (log, wanted_log):
                        file.write(bytes)
                        file.flush()
                    for place in (folder, wanted):
                        (place / name / "new").write_bytes(bytes)
                        os.rename(place / name / "new", place / name / f"{number % 20}")
                        if number % 20 == 0:
                            os.unlink(place / name / "0")
        except OSError as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(f"worker{number}",)) for number in range(3)]
    for worker in workers:
        worker.start()
    pid = None
    for _ in range(6):
        time.sleep(0.5)
        pid = mounts.server(but=pid)
        kill(pid)
    stop.set()
    for worker in workers:
        worker.join()
    assert not errors
    assert same(wanted, folder)
    publish(runnel, folder)
    assert same(wanted, got(runnel, tmp_path))


def test_what_was_closed_outlives_both_processes(runnel, folder, mounts):  # noqa: F811
    (folder / "closed").write_text("bytes")
    file = open(folder / "open", "w")
    file.write("bytes of a file that was never closed")
    file.flush()
    for verb in ("mount", "serve"):
        for pid in mounts.processes(verb):
            kill(pid)
    runnel.until(lambda: not mounts.processes("serve"))
    with contextlib.suppress(OSError):
        file.close()
    folder = mounts.make("data", "mnt", "--mode", "rw")
    assert (folder / "closed").read_text() == "bytes"
    assert (folder / "open").read_text() == "bytes of a file that was never closed"
    runnel.run("volume", "umount", folder)
    assert runnel.run("volume", "cat", "data:/closed") == "bytes"


@pytest.mark.skipif(not ASKS_AGAIN, reason="before Linux 6.9 what was not answered is lost")
def test_a_server_that_dies_before_all_is_published_is_followed_by_one_that_does_it(runnel, folder, mounts):  # noqa: F811
    (folder / "file").write_bytes(os.urandom(30_000_000))
    server = mounts.server()
    os.kill(server, 19)
    subprocess.run(["umount", "--lazy", folder], check=True)
    kill(server)
    runnel.until(lambda: versions(runnel))
    assert len(runnel.run("volume", "ls", "data").split()) == 1


def test_owners_and_bits_are_kept(runnel, folder, tmp_path):
    (folder / "shared").mkdir()
    os.chown(folder / "shared", 1234, 5678)
    os.chmod(folder / "shared", 0o2775)
    (folder / "shared/file").touch()
    (folder / "shared/sub").mkdir()
    assert os.stat(folder / "shared/file").st_gid == 5678
    assert stat.S_IMODE(os.stat(folder / "shared/sub").st_mode) & stat.S_ISGID
    os.chmod(folder / "shared/file", 0o4711)
    assert stat.S_IMODE(os.stat(folder / "shared/file").st_mode) == 0o4711
    assert os.statvfs(folder).f_bavail > 0


def test_a_small_disk_has_room_again_once_all_is_published(runnel, mounts, tmp_path):  # noqa: F811
    """A log takes what room there is, and what is removed always fits."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100m", "none", small], check=True)
    try:
        (small / "home").mkdir(mode=0o700)
        folder = tmp_path / "mnt"
        folder.mkdir()
        at_home = ("--home", small / "home", "volume")
        store = ("--store", f"file://{tmp_path}/store")
        (tmp_path / "store").mkdir()
        runnel.run(*at_home, "create", "data", *store)
        runnel.run(*at_home, "mount", "-d", "--mode", "rw", "data", folder)
        written = 0
        with contextlib.suppress(OSError):
            for written in range(200):
                (folder / f"{written:03}").write_bytes(os.urandom(1_000_000))
        assert written > 30
        for name in os.listdir(folder):
            (folder / name).unlink()
        runnel.run(*at_home, "publish", folder)
        runnel.until(lambda: _can_write(folder / "again"))
        runnel.run(*at_home, "umount", folder)
        assert runnel.run(*at_home, "cat", "data:/again") == "bytes"
        runnel.until(lambda: not [pid for pid in _pids_of(small / "home")])
    finally:
        subprocess.run(["umount", "-l", tmp_path / "mnt"], stderr=subprocess.DEVNULL)
        subprocess.run(["umount", "-l", small], check=True)


def _can_write(path):
    with contextlib.suppress(OSError):
        path.write_text("bytes")
        return True
    return False


def _pids_of(home):
    """Of processes that name a home."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(home).encode() in (folder / "cmdline").read_bytes():
                yield folder.name


def test_what_a_damaged_log_has_lost_is_told(runnel, folder, mounts):  # noqa: F811
    for name in ("before", "victim", "after"):
        (folder / name).write_text(f"bytes of {name}")
    for verb in ("mount", "serve"):
        for pid in mounts.processes(verb):
            kill(pid)
    runnel.until(lambda: not mounts.processes("serve"))
    log = next((runnel.home / "writing").glob("*/main/000001.log"))
    bytes = bytearray(log.read_bytes())
    bytes[bytes.rfind(b"bytes of victim")] ^= 1
    log.write_bytes(bytes)
    folder = mounts.make("data", "mnt", "--mode", "rw")
    assert (folder / "before").read_text() == "bytes of before"
    assert re.search(r"[1-9]\d* changes at the end of the log are gone", mounts.log())
