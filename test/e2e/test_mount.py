"""Versions of volumes as folders: what programs see, and what becomes of a mount whose processes die."""

import contextlib
import errno
import json
import mmap
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time

import pytest

from conftest import kill
from test_dead_mount import DeadMount
from test_s3 import server  # noqa: F401  A fixture.
from test_volume import same, tree

pytestmark = [
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="this machine has no /dev/fuse"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may open /dev/fuse here"),
]
# FUSE_NOTIFY_RESEND: what a killed process has left unanswered is asked of the next one.
ASKS_AGAIN = tuple(map(int, platform.release().split(".")[:2])) >= (6, 9)


def is_mounted(folder):
    return any(line.split()[4] == str(folder) for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


def read_anew(path):
    """The bytes of a file, past what the kernel remembers of it."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file.read()


def versions(runnel):
    return [each["version"] for each in runnel.json("volume", "versions", "data")["versions"]]


def forget(runnel, version):
    """Takes a version out of the head, which nothing does to one that is held but 64 later ones."""
    place = runnel.home / "volumes/data/head"
    head = json.loads(place.read_text())
    head["recent"] = [each for each in head["recent"] if each["version"] != version]
    place.write_text(json.dumps(head, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


class Mounts:
    """Mounts of one test, which are gone at its end, whatever became of it."""

    def __init__(self, runnel, folder):
        self.runnel = runnel
        self.folder = folder

    def make(self, volume, name="mnt", *options):
        """Mounts a volume, and gives the folder."""
        folder = self.folder / name
        if not is_mounted(folder):  # Of one that is dead nothing can be asked.
            folder.mkdir(exist_ok=True)
        assert self.runnel.run("volume", "mount", "-d", volume, folder, *options).startswith("mounted ")
        return folder

    def processes(self, verb):
        """The pids of those that hold ("mount") or serve ("serve") mounts of this home."""
        found = []
        for pid in self.runnel.pids():
            with contextlib.suppress(OSError):
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"volume" in words and verb.encode() in words:
                    found.append(pid)
        return found

    def server(self, but=None):
        """The pid of who serves, and is not `but`. One that starts slowly is started twice; the later one ends."""

        def alone():
            found = self.processes("serve")
            return found[0] if len(found) == 1 and found != [but] else None

        return self.runnel.until(alone)

    def log(self):
        return (self.runnel.home / "mounts.log").read_text()

    def there(self):
        places = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        return [place for place in places if place.startswith(f"{self.folder}/")]

    def end(self):
        for place in self.there():
            subprocess.run(["umount", "--lazy", place])  # Unless it goes by itself just now.
        assert not self.there()
        self.runnel.until(lambda: not self.processes("mount") and not self.processes("serve"))


@pytest.fixture
def mounts(runnel, tmp_path):
    made = Mounts(runnel, tmp_path)
    yield made
    made.end()


@pytest.fixture
def data(runnel, tmp_path):
    """A volume `data`, and the folder that was put."""
    files = {f"many/{number:04}": os.urandom(3000) for number in range(500)}
    files |= {"text": b"hello\n" * 100_000, "long": os.urandom(5_000_000), "empty": b"", "deep/er/file": b"x"}
    source = tree(tmp_path / "source", files)
    (source / "link").symlink_to("deep/er/file")
    (source / "script").write_text("#!/bin/sh\necho ran\n")
    (source / "script").chmod(0o755)
    os.utime(source / "text", ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", source, "data")
    return source


def test_programs_see_what_was_put(runnel, data, mounts, tmp_path):
    folder = mounts.make("data")
    assert same(data, folder)
    for path in data.rglob("*"):
        if path.is_file():
            assert (folder / path.relative_to(data)).read_bytes() == path.read_bytes(), path
    assert subprocess.check_output([folder / "script"]) == b"ran\n"
    assert os.readlink(folder / "link") == "deep/er/file" and (folder / "link").read_bytes() == b"x"
    for path in ("text", "script", "many/0007", "deep"):
        ours, theirs = os.lstat(folder / path), os.lstat(data / path)
        assert (ours.st_mode, ours.st_mtime_ns) == (theirs.st_mode, theirs.st_mtime_ns), path
        assert path == "deep" or ours.st_size == theirs.st_size
    find = ["find", ".", "-printf", "%p %y %s\n"]
    listed = [sorted(line for line in subprocess.check_output(find, cwd=where, text=True).splitlines() if " d " not in line)
              for where in (data, folder)]
    assert listed[0] == listed[1]
    subprocess.run(["tar", "-cf", tmp_path / "all.tar", "-C", folder, "."], check=True)
    with tarfile.open(tmp_path / "all.tar") as archive:
        assert archive.extractfile("./long").read() == (data / "long").read_bytes()
    with open(folder / "long", "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert mapped[4_000_000:4_100_000] == (data / "long").read_bytes()[4_000_000:4_100_000]
    assert os.statvfs(folder).f_files >= 500


def test_a_mounted_clone_has_what_it_shares_and_what_is_its_own(runnel, data, mounts, tmp_path):
    runnel.run("volume", "clone", "data", "mine")
    runnel.run("volume", "put", tree(tmp_path / "more", {"own": os.urandom(200_000)}), "mine")
    runnel.run("volume", "rm", "data:/many")
    runnel.run("volume", "gc", "data", "--keep", "0s")
    folder = mounts.make("mine")
    assert (folder / "own").read_bytes() == (tmp_path / "more/own").read_bytes()
    for path in data.rglob("*"):
        if path.is_file():
            assert (folder / path.relative_to(data)).read_bytes() == path.read_bytes(), path


def test_nothing_can_be_changed(data, mounts):
    folder = mounts.make("data")
    for change in (lambda: (folder / "new").write_text("x"), lambda: (folder / "text").unlink(),
                   lambda: (folder / "text").rename(folder / "other"), lambda: (folder / "text").chmod(0o600),
                   lambda: open(folder / "text", "r+b")):
        with pytest.raises(OSError) as refused:
            change()
        assert refused.value.errno == errno.EROFS


def test_names_may_be_anything(runnel, mounts, tmp_path):
    names = [b"new\nline", b"\xff\xfe", b"n" * 255, b" ", b"Case", b"case", b".hidden", "naïve".encode()]
    source = tmp_path / "source"
    source.mkdir()
    for name in names:
        (source / os.fsdecode(name)).write_bytes(name)
    runnel.run("volume", "create", "odd")
    runnel.run("volume", "put", source, "odd")
    folder = mounts.make("odd")
    assert sorted(os.listdir(os.fsencode(folder))) == sorted(names)
    for name in names:
        assert (folder / os.fsdecode(name)).read_bytes() == name


def test_a_folder_is_listed_from_any_place(runnel, mounts, tmp_path):
    source = tree(tmp_path / "source", {f"{number:05}": b"" for number in range(3000)})
    runnel.run("volume", "create", "big")
    runnel.run("volume", "put", source, "big")
    folder = mounts.make("big")
    assert sorted(os.listdir(folder)) == sorted(os.listdir(source))
    walk = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
libc.telldir.argtypes = libc.readdir.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
name = lambda entry: ctypes.string_at(entry + 19)
stream = libc.opendir(sys.argv[1].encode())
places, names = [], []
while True:
    place = libc.telldir(stream)
    entry = libc.readdir(stream)
    if not entry: break
    places.append(place); names.append(name(entry))
for number in (2500, 7, 1200, 3001, 0):
    libc.seekdir(stream, places[number])
    assert name(libc.readdir(stream)) == names[number], number
print(len(names))
"""
    assert subprocess.check_output([sys.executable, "-c", walk, folder], text=True) == "3002\n"


def test_a_mount_stays_at_its_version(runnel, data, mounts):
    folder = mounts.make("data")
    (data / "text").write_text("another text")
    (data / "many/0001").unlink()
    runnel.run("volume", "put", "--mirror", data, "data")
    later = mounts.make("data", "later")
    assert (folder / "text").read_bytes() == b"hello\n" * 100_000 and (folder / "many/0001").exists()
    assert (later / "text").read_text() == "another text" and not (later / "many/0001").exists()
    # One that has left the volume, as after 64 more, is held by its session.
    first = versions(runnel)[1]
    forget(runnel, first)
    assert first not in versions(runnel)
    runnel.run("volume", "gc", "data", "--keep", "0s")
    assert (folder / "long").read_bytes() == (data / "long").read_bytes()
    assert read_anew(folder / "many/0001") and same(data, later)
    if ASKS_AGAIN:  # The next server goes on with the session of the one that was killed.
        servers = set(mounts.processes("serve"))
        for server in servers:
            kill(server)
        assert len(servers) == 1, "one serves both"
        runnel.until(lambda: set(mounts.processes("serve")) - servers)
        assert read_anew(folder / "text") == b"hello\n" * 100_000
    for each in (folder, later):
        runnel.run("volume", "umount", each)
    runnel.until(lambda: not mounts.processes("serve"))
    assert runnel.json("volume", "gc", "data")["objects"] > 0, "nobody holds it any more"


def test_gc_keeps_a_version_that_is_mounted(runnel, data, mounts):
    folder = mounts.make("data")
    (data / "text").write_text("another text")
    runnel.run("volume", "put", data, "data")
    newest, first = versions(runnel)
    for words, begin in ((("--dry-run",), "would keep"), ((), "kept")):
        said = runnel.run("volume", "gc", "data", "--keep", "0s", *words)
        assert said.startswith(f"{begin} version {first}, ") and f"held by the mount in {folder} (pid " in said, said
    document = runnel.json("volume", "gc", "data", "--keep", "0s")
    assert document["dropped"] == [] and str(folder) in document["held"][0]["held_by"]
    runnel.run("volume", "umount", folder)
    assert mounts.make(f"data@{first}") == folder, "and it can be mounted again"
    runnel.run("volume", "umount", folder)
    runnel.until(lambda: not mounts.processes("serve"))
    assert [each["version"] for each in runnel.json("volume", "gc", "data", "--keep", "0s")["dropped"]] == [first]
    assert versions(runnel) == [newest]


def test_a_put_of_a_mount_is_warned_of(runnel, data, mounts, tmp_path):
    (tmp_path / "place").mkdir()
    folder = mounts.make("data", "place/mnt")
    (version,) = versions(runnel)
    runnel.run("volume", "create", "copy")
    for source in (folder, folder / "many", tmp_path / "place"):
        runnel.run("volume", "put", source, "copy")
        assert f"warning: {folder} is a mount of a volume (runnel:data@{version}), whose files" in runnel.err
    runnel.run("volume", "put", data / "deep", "copy")
    assert "warning" not in runnel.err


def test_ctrl_c_ends_a_mount(runnel, data, mounts, tmp_path):
    folder = tmp_path / "mnt"
    folder.mkdir()
    process = runnel.start("volume", "mount", "data", folder)
    assert process.stdout.readline().startswith("mounted data@")
    assert (folder / "deep/er/file").read_bytes() == b"x"
    with open(folder / "text", "rb") as file:
        process.send_signal(signal.SIGINT)
        assert "in use" in process.stderr.readline()
        assert is_mounted(folder)
        process.send_signal(signal.SIGINT)
        runnel.until(lambda: not is_mounted(folder))
        assert file.read() == b"hello\n" * 100_000, "who has it open keeps it"
    assert process.wait(timeout=30) == 0
    runnel.until(lambda: not mounts.processes("serve"))
    runnel.run("volume", "gc", "data")


def test_several_mounts_are_taken_away_at_once(runnel, data, mounts):
    folders = [mounts.make("data", name) for name in ("one", "two", "three")]
    with open(folders[0] / "text", "rb"):
        runnel.run("volume", "umount", *folders, code=1)
    assert f"{folders[0]} is in use" in runnel.err and runnel.err.count("runnel: ") == 1
    assert [is_mounted(folder) for folder in folders] == [True, False, False]
    runnel.run("volume", "umount", folders[0])


def test_umount_names_who_uses_it(runnel, data, mounts):
    folder = mounts.make("data")
    user = subprocess.Popen(["sleep", "60"], cwd=folder / "deep")
    try:
        runnel.run("volume", "umount", folder, code=1)
        assert f"in use: by sleep (pid {user.pid}, {folder}/deep)" in runnel.err
        assert f"runnel volume umount --lazy {folder}" in runnel.err
        runnel.run("volume", "umount", "--lazy", folder)
        assert not is_mounted(folder)
    finally:
        user.kill()
        user.wait()
    runnel.until(lambda: not mounts.processes("serve"))
    runnel.run("volume", "umount", folder, code=1)
    assert "no volume is mounted in" in runnel.err


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_a_mount_ends_with_the_terminal_or_the_supervisor_of_who_holds_it(runnel, data, mounts, tmp_path, by):
    folder = tmp_path / "mnt"
    folder.mkdir()
    process = runnel.start("volume", "mount", "data", folder)
    assert process.stdout.readline().startswith("mounted data@")
    process.send_signal(by)
    assert process.wait(timeout=30) == 0
    assert not is_mounted(folder)
    runnel.until(lambda: not mounts.processes("serve"))


def test_who_holds_a_mount_leaves_another_one_in_the_same_folder(data, mounts, runnel):
    folder = mounts.make("data")
    (first,) = mounts.processes("mount")
    with open(folder / "text", "rb") as file:
        runnel.run("volume", "umount", "--lazy", folder)
        mounts.make("data")
        kill(first, signal.SIGTERM)
        assert file.read() == b"hello\n" * 100_000
    runnel.until(lambda: first not in runnel.pids())
    assert is_mounted(folder) and same(data, folder)


class Readers:
    """Threads that read all files of a mount over and over, past the kernel's memory, until they are stopped."""

    def __init__(self, source, folder, count=16):
        self.files = {path.relative_to(source): path.read_bytes() for path in source.rglob("*") if path.is_file()}
        self.folder = folder
        self.passes = 0
        self.errors = []
        self.ends = threading.Event()
        self.threads = [threading.Thread(target=self.read_all) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def read_all(self):
        while not self.ends.is_set():
            for name, content in self.files.items():
                try:
                    if read_anew(self.folder / name) != content:
                        self.errors.append(f"{name} is another")
                except OSError as error:
                    self.errors.append(f"{name}: {error}")
                if self.ends.is_set() or self.errors:
                    break
            self.passes += 1

    def end(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.skipif(not ASKS_AGAIN, reason="before Linux 6.9 what was not answered is lost")
def test_who_reads_notices_nothing_of_a_server_that_is_killed(runnel, data, mounts):
    folder = mounts.make("data")
    readers = Readers(data, folder)
    try:
        for _ in range(5):
            time.sleep(0.2)
            server = mounts.server()
            kill(server)
            mounts.server(but=server)
            assert read_anew(folder / "text") == (data / "text").read_bytes(), "answered by the next one"
        passes = readers.passes
        runnel.until(lambda: readers.passes > passes + 16 or readers.errors)
    finally:
        readers.end()
    assert not readers.errors
    assert mounts.log().count("what served it has died: it is served again") == 5
    for line in mounts.log().splitlines():
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z runnel: ", line), "the log says when"


def test_a_server_ends_whose_store_does_not_answer(runnel, data, mounts):
    folder = mounts.make("data")
    server = mounts.server()
    store = DeadMount()
    store.cover(runnel.home / "volumes/data")
    reader = subprocess.Popen(["cmp", data / "long", folder / "long"])
    try:
        time.sleep(0.5)
        os.kill(server, signal.SIGTERM)
        runnel.until(lambda: server not in mounts.processes("serve"), timeout=15)
        assert reader.poll() is None, "it waits for the next one"
    finally:
        store.end()
    assert not ASKS_AGAIN or reader.wait(timeout=60) == 0
    reader.kill()


def test_a_mount_outlives_who_holds_it_and_is_made_anew_when_all_are_dead(runnel, data, mounts):
    folder = mounts.make("data")
    (holder,) = mounts.processes("mount")
    kill(holder)
    runnel.until(lambda: not mounts.processes("mount"))
    assert same(data, folder)
    kill(mounts.server())
    runnel.until(lambda: not mounts.processes("serve"))
    with pytest.raises(OSError) as dead:
        os.statvfs(folder)
    assert dead.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    assert mounts.make("data") == folder
    assert "nobody serves any more" in runnel.err
    assert same(data, folder)
    runnel.run("volume", "umount", folder)
    assert not is_mounted(folder)


def test_a_dead_mount_behind_links_is_made_anew_and_unmounted(runnel, data, mounts, tmp_path):
    folder = mounts.make("data")
    (tmp_path / "shelf").symlink_to(folder.parent)
    (tmp_path / "link").symlink_to(f"shelf/{folder.name}")

    def die():
        for verb in ("mount", "serve"):
            for pid in mounts.processes(verb):
                kill(pid)
        runnel.until(lambda: not mounts.processes("serve"))

    die()
    runnel.run("volume", "mount", "-d", "data", tmp_path / "link")
    assert "nobody serves any more" in runnel.err
    assert same(data, folder)
    die()
    runnel.run("volume", "umount", tmp_path / "link")
    assert not is_mounted(folder)
    (runnel.home / "mounts.sock").unlink()  # A killed server's, which the next one replaces.


def test_a_cache_in_a_mounted_volume_is_refused(runnel, data, mounts, tmp_path):
    """Each read of it would wait for itself."""
    folder, other = tmp_path / "mnt", mounts.make("data", "other")
    folder.mkdir()
    for cache in (folder / "cache", folder, other):
        runnel.run("volume", "mount", "-d", "data", folder, "--cache", cache, "--cache-size", "200MiB", code=1)
        assert f"{cache} lies in a mounted volume" in runnel.err
        assert not is_mounted(folder)
    assert same(data, other)
    runnel.run("volume", "mount", "data", folder, "--cache-size", "1GiB", code=2)
    assert "name its folder: --cache DIR" in runnel.err


def test_a_cache_on_the_disk_outlives_the_mount_and_its_processes(runnel, data, mounts, tmp_path):
    cache = tmp_path / "cache"
    options = ("--cache", cache, "--cache-size", "200MiB")
    folder = mounts.make("data", "mnt", *options)
    contents = {path.relative_to(data): path.read_bytes() for path in data.rglob("*") if path.is_file()}

    def read_all():
        return all(read_anew(folder / path) == content for path, content in contents.items())

    assert read_all()
    # Mounts of one home share it; another home cannot have it meanwhile.
    assert same(data, mounts.make("data", "beside", *options))
    elsewhere = ("--home", tmp_path / "home2", "--store", f"file://{runnel.home}/volumes")
    (tmp_path / "other").mkdir()
    runnel.run("volume", "mount", "-d", "data", tmp_path / "other", *options, *elsewhere, code=1)
    assert "another process uses the cache" in runnel.err
    runnel.run("volume", "umount", tmp_path / "beside")
    runnel.run("volume", "umount", folder)
    runnel.until(lambda: not mounts.processes("serve"))
    used = sum(path.stat().st_size for path in cache.iterdir())
    assert used <= 200 << 20

    packs = runnel.home / "volumes/data/p"
    packs.rename(packs.with_name("away"))
    mounts.make("data", "mnt", *options)
    assert read_all(), "without the store's packs"
    server = mounts.server()
    kill(server)
    mounts.server(but=server)
    assert read_all()
    runnel.run("volume", "umount", folder)
    runnel.until(lambda: not mounts.processes("serve"))

    packs.with_name("away").rename(packs)
    for segment in cache.glob("segment-*"):
        with open(segment, "r+b") as file:
            for place in range(0, 8 << 20, 50_000):
                file.seek(place)
                file.write(b"damaged")
    mounts.make("data", "mnt", *options)
    assert read_all(), "what the disk has changed is fetched again"


def test_a_warm_up_brings_a_version_into_the_cache_before_it_is_read(runnel, data, mounts, tmp_path):
    options = ("--cache", tmp_path / "cache", "--cache-size", "200MiB")
    part = runnel.json("volume", "warmup", "data:/many", *options)
    assert part["files"] == 500 and part["bytes"] == part["fetched_bytes"] >= 500 * 3000
    told = runnel.json("volume", "warmup", "data", *options)
    files = [path for path in data.rglob("*") if path.is_file() and not path.is_symlink()]
    assert told["files"] == len(files) and told["version"] == versions(runnel)[0]
    assert 5_000_000 < told["fetched_bytes"] <= told["bytes"], "what is short is fetched with what is beside it"
    again = runnel.run("volume", "warmup", "data", *options)
    assert again.startswith(f"{len(files)} files of data@{versions(runnel)[0]} are in {tmp_path}/cache: ")
    assert again.endswith(", 0 B of it fetched now\n")

    (runnel.home / "volumes/data/p").rename(runnel.home / "volumes/data/away")
    folder = mounts.make("data", "mnt", *options)
    assert all((folder / path.relative_to(data)).read_bytes() == path.read_bytes() for path in files)
    warm = runnel.json("volume", "warmup", "data", *options)
    assert warm == told | {"fetched_bytes": 0}, "of the cache that the mount has"
    (tmp_path / "link").symlink_to(tmp_path)
    named = ("--cache", tmp_path / "link/cache", "--cache-size", "200MiB")
    assert runnel.json("volume", "warmup", "data", *named) == warm, "by another name"
    for words, code, said in (
        (("data",), 2, "--cache DIR"),
        (("data:/none", "--cache", tmp_path / "other"), 1, "there is no 'none'"),
    ):
        runnel.run("volume", "warmup", *words, code=code)
        assert said in runnel.err
    (runnel.home / "volumes/data/away").rename(runnel.home / "volumes/data/p")
    big = tree(tmp_path / "big", {f"{number}": os.urandom(1_000_000) for number in range(130)})
    runnel.run("volume", "put", big, "data")
    runnel.run("volume", "warmup", "data", "--cache", tmp_path / "small", "--cache-size", "128MiB", code=2)
    assert "these files have more" in runnel.err and "cache-size" in runnel.err


def test_a_server_gives_its_memory_back_when_nobody_reads(runnel, mounts, tmp_path):
    source = tree(tmp_path / "source", {"long": os.urandom(150_000_000)})
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", source, "data")
    folder = mounts.make("data")

    def resident_mb():
        status = pathlib.Path(f"/proc/{mounts.server()}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024

    idle = resident_mb()
    assert (folder / "long").read_bytes() == (source / "long").read_bytes()
    full = resident_mb()
    assert full > idle + 80, "else there is nothing to give back"
    runnel.until(lambda: resident_mb() < idle + 12, timeout=30)
    assert read_anew(folder / "long") == (source / "long").read_bytes()


def test_a_cache_folder_is_refused_when_it_is_no_cache(runnel, data, mounts, tmp_path):
    folder = tmp_path / "mnt"
    folder.mkdir()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter").write_text("precious")
    runnel.run("volume", "mount", "-d", "data", folder, "--cache", tmp_path / "thesis", code=1)
    assert runnel.err.startswith(f"runnel: not mounted: the mount cannot be served: cache: the cache {tmp_path}/thesis has files that")
    assert runnel.err.count("mounts.log") == 1, runnel.err
    assert "are no cache's: 'chapter'; use a folder of its own" in runnel.err
    assert runnel.err.count("runnel: ") == 1 and "\\n" not in runnel.err, runnel.err
    runnel.run("volume", "mount", "-d", "data", folder, "--cache", tmp_path / "cache", "--cache-size", "1MiB", code=1)
    assert "is too small: it takes at least 128 MiB" in runnel.err
    runnel.run("volume", "mount", "-d", "data", folder, "--cache", tmp_path / "cache", "--cache-size", "much", code=2)
    assert "cache-size" in runnel.err
    assert not is_mounted(folder) and (tmp_path / "thesis/chapter").read_text() == "precious"


def test_of_damage_a_reader_gets_an_error_and_all_else(runnel, data, mounts):
    for pack in (runnel.home / "volumes/data/p").iterdir():
        with open(pack, "r+b") as file:
            file.seek(pack.stat().st_size // 2)
            byte = file.read(1)[0]
            file.seek(pack.stat().st_size // 2)
            file.write(bytes([byte ^ 1]))
    folder = mounts.make("data")
    damaged = []
    for path in sorted(path.relative_to(data) for path in data.rglob("*") if path.is_file()):
        try:
            assert (folder / path).read_bytes() == (data / path).read_bytes(), path
        except OSError as error:
            assert error.errno == errno.EIO
            damaged.append(str(path))
    runnel.run("volume", "fsck", "data", code=1)
    named = {each["path"] for each in runnel.json("volume", "fsck", "data", code=1)["damages"]}
    assert damaged and set(damaged) == {path for path in named if path}
    causes = [line for line in mounts.log().splitlines() if f"{folder}: a request failed: " in line]
    assert causes and len(causes) == len(set(causes)), "each is told once"
    assert any("a chunk of p/" in line and "runnel volume fsck data" in line for line in causes), causes


def test_what_cannot_be_mounted(runnel, data, mounts, tmp_path):
    folder = tmp_path / "mnt"
    folder.mkdir()
    (tmp_path / "file").write_text("x")

    def refused(*words, code=2):
        runnel.run("volume", "mount", *words, code=code)
        return runnel.err

    assert f"is not there; make the folder first: mkdir -p {tmp_path}/nowhere" in refused("data", tmp_path / "nowhere")
    assert "is no folder" in refused("data", tmp_path / "file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis").write_text("precious")
    assert "is not empty: a mount would hide 'thesis'; mount it in an empty folder" in refused("data", tmp_path / "full")
    assert "takes no path" in refused("data:/many", folder)
    assert "has no version 'abcd'" in refused("data@abcd", folder, code=1)
    assert "no volume" in refused("other", folder, code=1)
    runnel.run("volume", "create", "empty")
    assert "has no version" in refused("empty", folder, code=1)
    assert not is_mounted(folder)
    mounts.make("data")
    assert "is mounted in" in refused("data", folder, code=1)




def test_bench_tells_how_fast_a_mount_is_read(runnel, data, mounts):
    (data / "long").write_bytes(os.urandom(3_000_000))
    runnel.run("volume", "put", data, "data")
    folder = mounts.make("data")
    rows = {row["row"]: row for row in runnel.json("volume", "bench", folder)["rows"]}
    small = [path for path in data.rglob("*") if path.is_file() and not path.is_symlink() and 0 < path.stat().st_size <= 128 << 10]
    assert rows["list"]["count"] == len(list(data.rglob("*"))) and rows["small"]["count"] == len(small)
    assert rows["long"]["bytes"] >= 3_000_000 and rows["random"]["count"] == 2000
    assert all(0 <= row["first_ms"] < 60_000 and 0 <= row["again_ms"] < 60_000 for row in rows.values())
    table = runnel.run("volume", "bench", folder).splitlines()
    assert table[0].split() == ["READ", "COUNT", "BYTES", "FIRST", "AGAIN"] and len(table) == 5
    runnel.run("volume", "bench", folder / "none", code=1)
    assert str(folder / "none") in runnel.err


# The asker itself waits for the answer, as when a read-ahead has failed.
READ_WITHOUT_AHEAD = """
import mmap, os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: print("TERM"))
file = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 0, prot=mmap.PROT_READ)
file.madvise(mmap.MADV_RANDOM)
print(file[5_000_000])
"""


def test_a_mount_that_is_not_waited_for_any_more_is_taken_back(runnel, mounts, tmp_path):
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", tree(tmp_path / "source", {"a": b"1"}), "data")
    first = mounts.make("data")
    server, holders = mounts.server(), mounts.processes("mount")
    os.kill(server, signal.SIGSTOP)
    try:
        second = tmp_path / "second"
        second.mkdir()
        waiting = runnel.start("volume", "mount", "-d", "data", second)
        runnel.until(lambda: is_mounted(second))
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(timeout=20) == -signal.SIGINT
        assert "nothing is mounted" in waiting.stderr.read()
        assert not is_mounted(second) and mounts.processes("mount") == holders
    finally:
        os.kill(server, signal.SIGCONT)
    assert (first / "a").read_bytes() == b"1"
    assert os.listdir(second) == []
    assert (mounts.make("data", "second") / "a").read_bytes() == b"1"


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGTERM, signal.SIGKILL]], ids=["kill", "term-kill"])
def test_a_reader_can_be_killed_while_the_store_stalls(runnel, server, mounts, tmp_path, signals):  # noqa: F811
    """Also after a signal that it handles, which is all that the kernel tells of."""
    runnel.env.update(server.env)
    runnel.run("volume", "create", "far", "--store", "s3://bkt/volumes")
    content = os.urandom(8_000_000)
    runnel.run("volume", "put", tree(tmp_path / "far", {"long": content}), "far")
    folder = mounts.make("far")
    os.listdir(folder)
    server.process.send_signal(signal.SIGSTOP)
    try:
        reader = subprocess.Popen([sys.executable, "-c", READ_WITHOUT_AHEAD, folder / "long"])
        time.sleep(1)
        assert reader.poll() is None
        for each in signals:
            reader.send_signal(each)
            time.sleep(1)
        assert reader.wait(timeout=10) == -signal.SIGKILL
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert (folder / "long").read_bytes() == content, "what was asked for goes on"
