"""Volumes from Python and C, without a mount: what runnel.data and librunnel.so give, in threads, forks and workers."""

import concurrent.futures
import contextlib
import errno
import io
import multiprocessing
import os
import pathlib
import pickle
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from conftest import ROOT, kill
from s3_server import S3Server
from store_proxy import StoreProxy
from test_mount import Mounts, pytestmark as needs_fuse
from test_volume import tree

import runnel.data
from runnel.data import Volume

LIBRARY = runnel.data._library_path()
HEADER = ROOT / "src/library/runnel.h"
FILES = 3_000


@pytest.fixture(autouse=True)
def home(runnel, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNNEL_HOME", str(runnel.home))
    yield
    for pid in servers(runnel, tmp_path):  # Which waits two seconds for others to come.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    if "fsspec" in sys.modules:  # Another test's volume has the same name.
        import fsspec
        fsspec.filesystem("runnel").invalidate_cache()


@pytest.fixture
def data(runnel, tmp_path):
    """A volume `data` with thousands of files, and the folder that was put."""
    files = {f"many/{number // 1000}/{number:04}": os.urandom(random.randrange(6000)) for number in range(FILES)}
    files |= {"text": "zweimal grüßen\r\n".encode() * 20_000, "empty": b"", "deep/er/file": b"x"}
    source = tree(tmp_path / "source", files)
    (source / "link").symlink_to("deep/er/file")
    (source / "folder").symlink_to("deep/er")
    os.utime(source / "text", ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))
    runnel.run("volume", "create", "data", "--store", f"file://{tmp_path}/store")
    runnel.run("volume", "put", source, "data")
    return source


def servers(runnel, tmp_path):
    return Mounts(runnel, tmp_path).processes("serve")


def files_of(folder):
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]


def sessions(tmp_path):
    place = tmp_path / "store/data/s"
    return sorted(path.name for path in place.iterdir()) if place.is_dir() else []


def run_script(source, *words, timeout=120, **env):
    """The output of a script in a Python of its own."""
    done = subprocess.run([sys.executable, "-c", source, *map(str, words)], env={**os.environ, **env}, text=True,
                          capture_output=True, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# --- What is read.


def test_every_file_is_as_it_was_put(data):
    with Volume("data") as volume:
        names = files_of(data)
        assert len(names) > FILES
        random.shuffle(names)
        for number, name in enumerate(names):
            expected = (data / name).read_bytes()
            assert volume.load(name) == expected, name
            if number % 10 == 0:
                with volume.open(name) as file:
                    assert file.read() == expected, name


def test_folders_are_listed_and_walked_as_they_are(data):
    with Volume("data") as volume:
        assert volume.listdir() == sorted(os.listdir(data))
        assert volume.listdir("many/1") == sorted(os.listdir(data / "many/1")) and len(volume.listdir("many/1")) == 1000
        ours = [(top, sorted(folders), sorted(files)) for top, folders, files in volume.walk()]
        theirs = [(os.path.relpath(top, data) if top != str(data) else "", sorted(folders), sorted(files))
                  for top, folders, files in os.walk(data)]
        assert sorted(ours) == sorted(theirs)
        assert [top for top, _, _ in volume.walk("deep")] == ["deep", "deep/er"]
        for path in ("text", "many", "link", "folder/file", "/deep/er"):
            ours, theirs = volume.stat(path), os.stat(data / path.lstrip("/"))
            assert (ours.st_mode, ours.st_mtime_ns, ours.st_mtime) == (theirs.st_mode, theirs.st_mtime_ns, theirs.st_mtime)
            assert (ours.st_uid, ours.st_gid) == (theirs.st_uid, theirs.st_gid)
            assert stat.S_ISDIR(ours.st_mode) or ours.st_size == theirs.st_size
        assert stat.S_ISLNK(volume.stat("link", follow_symlinks=False).st_mode)
        assert volume.exists("deep/er") and volume.isdir("folder") and volume.isfile("link")
        assert not volume.exists("deep/none") and not volume.exists("text/x") and not volume.isdir("text")


def test_a_long_file_is_read_anywhere(runnel, tmp_path):
    whole = os.urandom(40_000_003)
    runnel.run("volume", "create", "big")
    runnel.run("volume", "put", tree(tmp_path / "source", {"long": whole}), "big")
    with Volume("big") as volume, volume.open("long") as file:
        assert file.seekable() and file.seek(0, io.SEEK_END) == len(whole)
        for _ in range(300):
            place, length = random.randrange(len(whole) + 10), random.choice((1, 100, 70_000, 3_000_000))
            file.seek(place)
            assert file.tell() == place
            assert file.read(length) == whole[place:place + length]
        file.seek(-5, io.SEEK_END)
        assert file.read() == whole[-5:] and file.read() == b""
        file.seek(0)
        assert b"".join(iter(lambda: file.read(1_234_567), b"")) == whole
        assert volume.load("long") == whole
        assert volume.load("long", 39_000_000) == whole[39_000_000:]
        assert volume.load("long", 1_000_000, 70_001) == whole[1_000_000:1_070_001]
        assert volume.load("long", 50_000_000) == b"" and volume.load("long", 10, 0) == b""
        into = bytearray(100_000)
        file.seek(7)
        assert file.readinto(into) == 100_000 and into == whole[7:100_007]
        raw = volume.open("long", buffering=0)
        assert raw.read(10) == whole[:10] and len(raw.readall()) == len(whole) - 10
    with pytest.raises(ValueError):
        volume.load("long", -1)


def test_text_is_decoded(data):
    with Volume("data") as volume:
        with volume.open("text", "r", encoding="utf-8") as file:
            assert file.readline() == "zweimal grüßen\n"
            assert sum(1 for _ in file) == 19_999
        with volume.open("text", "rt", encoding="utf-8", newline="") as file:
            assert file.readline() == "zweimal grüßen\r\n"
        with volume.open("text", "r", encoding="ascii", errors="replace") as file:
            assert "gr\ufffd" in file.readline()
        with pytest.raises(LookupError):
            volume.open("text", "r", encoding="no-such")
        with pytest.raises(ValueError):
            volume.open("text", "rb", encoding="utf-8")


def test_errors_are_those_of_python(data, runnel, tmp_path):
    with Volume("data") as volume:
        with pytest.raises(FileNotFoundError) as missing:
            volume.open("many/none")
        assert missing.value.filename == "many/none" and f"in data@{volume.version}" in str(missing.value)
        for read in (volume.load, volume.open):
            with pytest.raises(IsADirectoryError):
                read("many")
        with pytest.raises(NotADirectoryError):
            volume.listdir("text")
        with pytest.raises(NotADirectoryError):
            volume.load("text/x")
        for mode in ("w", "wb", "a", "x", "r+", "rb+"):
            with pytest.raises(OSError, match="never changes") as refused:
                volume.open("text", mode)
            assert refused.value.errno == errno.EROFS
        with pytest.raises(ValueError):
            volume.open("text", "q")
        with pytest.raises(ValueError):
            volume.load("a\0b")
        file = volume.open("text")
    for late in (lambda: volume.load("text"), lambda: file.read(), lambda: volume.listdir()):
        with pytest.raises(OSError, match="was closed"):
            late()
    volume.close()
    with pytest.raises(FileNotFoundError, match="none"):
        Volume("none")
    with pytest.raises(FileNotFoundError, match="runnel volume versions data"):
        Volume("data", "no-such")
    with pytest.raises(OSError, match="begins with a letter"):
        Volume("Not A Name")
    with pytest.raises(ValueError):
        Volume("data@one", "two")
    with pytest.raises(OSError, match="at least 128 MiB"):
        Volume("data", cache=tmp_path / "cache", cache_size="1MiB")


def test_a_version_has_names(data, runnel):
    first = Volume("data").version
    (data / "text").write_text("second")
    runnel.run("volume", "put", data, "data")
    runnel.run("volume", "tag", f"data@{first}", "baseline")
    with Volume("data") as newest, Volume("data@baseline") as tagged, Volume("data", first[:8]) as begun:
        assert newest.load("text") == b"second" and newest.version != first
        assert tagged.version == begun.version == first and tagged.load("text") == begun.load("text") != b"second"


def test_names_may_be_anything(runnel, tmp_path):
    names = [b"new\nline", b"\xff\xfe", b"n" * 255, b" ", b"Case", b"case", b".hidden", "naïve".encode(), b"at@sign"]
    source = tmp_path / "source"
    (source / os.fsdecode(b"folder\xff")).mkdir(parents=True)
    for name in names:
        (source / os.fsdecode(name)).write_bytes(name)
        (source / os.fsdecode(b"folder\xff/" + name)).write_bytes(name)
    runnel.run("volume", "create", "odd")
    runnel.run("volume", "put", source, "odd")
    with Volume("odd") as volume:
        assert volume.listdir(b"folder\xff") == sorted(map(os.fsdecode, names), key=os.fsencode)
        for name in names:
            assert volume.load(name) == volume.load(os.fsdecode(name)) == name
            assert volume.load(pathlib.PurePosixPath(os.fsdecode(b"folder\xff"), os.fsdecode(name))) == name
        with pytest.raises(FileNotFoundError) as missing:
            volume.load(b"\xff")
        assert missing.value.filename == os.fsdecode(b"\xff")


@needs_fuse[0]
@needs_fuse[1]
def test_a_mount_and_the_library_give_the_same(runnel, data, tmp_path):
    mounts = Mounts(runnel, tmp_path)
    try:
        folder = mounts.make("data")
        with Volume("data") as volume:
            for name in files_of(folder):
                assert volume.load(name) == (folder / name).read_bytes(), name
                assert volume.stat(name).st_ino == os.stat(folder / name).st_ino
            assert volume.listdir("many/2") == sorted(os.listdir(folder / "many/2"))
    finally:
        mounts.end()


# --- Threads, forks, workers.


def test_threads_read_at_once(data):
    names = files_of(data)
    wrong = []

    def read(seed):
        mine = random.Random(seed).sample(names, 1000)
        wrong.extend(name for name in mine if volume.load(name) != (data / name).read_bytes())

    with Volume("data") as volume:
        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


WORKERS = """
import multiprocessing, pathlib, subprocess, sys
from runnel.data import Volume

NAME = "many/0/0007"

def work(volume, results):
    results.put((volume.version, volume.load(NAME)))

if __name__ == "__main__":
    how, runnel, source, sessions = sys.argv[1:]
    source = pathlib.Path(source)
    context = multiprocessing.get_context(how)
    with Volume("data") as volume:
        expected = volume.load(NAME)
        (source / NAME).write_bytes(b"another")
        subprocess.run([runnel, "volume", "put", source, "data"], check=True, stdout=sys.stderr)
        subprocess.run([runnel, "volume", "gc", "data", "--keep", "0s"], check=True)
        results = context.Queue()
        workers = [context.Process(target=work, args=(volume, results)) for _ in range(2)]
        for worker in workers:
            worker.start()
        assert [results.get(timeout=60) for _ in workers] == [(volume.version, expected)] * 2
        for worker in workers:
            worker.join()
            assert worker.exitcode == 0
        assert volume.load("many/1/1007") == (source / "many/1/1007").read_bytes()
        assert len(list(pathlib.Path(sessions).iterdir())) == 1, "those of workers have ended"
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_workers_read_the_same_version(runnel, data, tmp_path, how):
    """Also when gc would have dropped it before they began, and with a parent that reads before and after."""
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    words = [sys.executable, script, how, runnel.binary, data, tmp_path / "store/data/s"]
    done = subprocess.run(words, text=True, capture_output=True, timeout=120)
    assert done.returncode == 0 and "kept version" in done.stdout, done.stdout + done.stderr
    assert sessions(tmp_path) == []


def test_a_pickle_is_the_same_version(data, runnel):
    with Volume("data") as volume:
        (data / "text").write_text("second")
        runnel.run("volume", "put", data, "data")
        with pickle.loads(pickle.dumps(volume)) as other:
            assert other.version == volume.version and other.load("text") == volume.load("text") != b"second"
        with pytest.raises(OSError, match="was closed"):
            other.load("text")
        assert volume.load("empty") == b""


LOADER = """
import sys, torch
from runnel.data import Volume

class Files(torch.utils.data.Dataset):
    def __init__(self, volume, folder):
        self.volume, self.folder = volume, folder
        self.names = volume.listdir(folder)
    def __len__(self):
        return len(self.names)
    def __getitem__(self, at):
        data = self.volume.load(f"{self.folder}/{self.names[at]}")
        with self.volume.open(f"{self.folder}/{self.names[at]}") as file:
            assert file.read() == data
        return at, len(data), sum(data)

if __name__ == "__main__":
    torch.set_num_threads(1)
    files = Files(Volume("data"), "many/1")
    expected = [files[at] for at in range(1000)]  # The parent reads before it forks.
    for how, persistent in (("fork", False), ("fork", True), ("spawn", True)):
        loader = torch.utils.data.DataLoader(files, batch_size=50, shuffle=True, num_workers=2,
                                             multiprocessing_context=how, persistent_workers=persistent)
        for epoch in range(2):
            found = sorted((int(a), int(b), int(c)) for at, size, total in loader for a, b, c in zip(at, size, total))
            assert found == expected, (how, persistent, epoch)
    print("well")
"""


@pytest.mark.long
def test_loaders_of_torch_read(data, runnel, tmp_path):
    """With workers that are forked or spawned, for each epoch or for all: torch is imported for each that is spawned."""
    script = tmp_path / "loader.py"
    script.write_text(LOADER)
    done = subprocess.run([sys.executable, script], text=True, capture_output=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "well\n", done.stdout + done.stderr
    runnel.run("volume", "gc", "data")  # Persistent workers end by a signal at the end of their parent: gc finds out.
    assert sessions(tmp_path) == [], "nobody holds the version any more"


def test_an_interpreter_ends_without_being_told(data, tmp_path):
    begin = time.monotonic()
    source = "from runnel.data import Volume; kept = Volume('data'); print(len(kept.load('text')))"
    assert int(run_script(source)) == len((data / "text").read_bytes())
    assert time.monotonic() - begin < 10 and sessions(tmp_path) == []
    daemon = """
import threading, time
from runnel.data import Volume
volume = Volume('data')
def read():
    while True: volume.load('text')
for _ in range(4): threading.Thread(target=read, daemon=True).start()
time.sleep(0.3)
"""
    run_script(daemon, timeout=20)
    assert sessions(tmp_path) == []


def test_a_child_that_is_forked_by_hand_ends_well(data, tmp_path):
    source = """
import os, sys
from runnel.data import Volume
volume = Volume('data')
first = volume.load('text')
pid = os.fork()
assert volume.load('text') == first
if pid == 0: sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert volume.load('many/0/0001') is not None
volume.close()
"""
    run_script(source, timeout=30)
    assert sessions(tmp_path) == []


def test_who_is_killed_is_found_by_gc(data, runnel, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "import time; from runnel.data import Volume; v = Volume('data'); "
                                "print('open', flush=True); time.sleep(60)"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "open\n"
    process.kill()
    process.wait()
    assert len(sessions(tmp_path)) == 1
    runnel.run("volume", "gc", "data")
    assert sessions(tmp_path) == []


@pytest.mark.long
def test_a_session_that_was_lost_is_begun_anew(data, tmp_path):
    """As when a laptop slept, and gc took it for dead."""
    with Volume("data") as volume:
        (lost,) = sessions(tmp_path)
        (tmp_path / "store/data/s" / lost).unlink()
        end = time.monotonic() + 40
        while not sessions(tmp_path) and time.monotonic() < end:
            assert volume.load("many/0/0001") == (data / "many/0/0001").read_bytes()
            time.sleep(0.2)
        assert len(sessions(tmp_path)) == 1 and sessions(tmp_path) != [lost]
        assert volume.load("text") == (data / "text").read_bytes()


# --- Stores and caches.


def test_a_cache_serves_without_the_packs(data, tmp_path):
    names = files_of(data)
    cache = tmp_path / "cache"
    with Volume("data", cache=cache, cache_size="256MiB") as volume:
        for name in names:
            volume.load(name)
    shutil.rmtree(tmp_path / "store/data/p")
    with Volume("data", cache=cache, cache_size=256 << 20) as volume:
        for name in names:
            assert volume.load(name) == (data / name).read_bytes(), name
    with Volume("data") as volume, pytest.raises(OSError) as lost:
        volume.load(names[0])
    assert lost.value.errno == errno.EIO


# How many bytes of all files it has read.
READ_ALL = """
from runnel.data import Volume
with Volume("data") as volume:
    print(sum(len(volume.load(f"f/{number}")) for number in range(1_000)))
"""


def test_processes_that_read_the_same_fetch_it_once(runnel, tmp_path, monkeypatch):
    server = S3Server(tmp_path).start()
    proxy = StoreProxy(server.port)
    try:
        for name, value in (server.env | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}"}).items():
            monkeypatch.setenv(name, value)
            runnel.env[name] = value
        files = {f"f/{number}": os.urandom(3000) for number in range(1_000)}
        runnel.run("volume", "create", "data", "--store", "s3://bkt/prefix")
        runnel.run("volume", "put", tree(tmp_path / "source", files), "data")
        proxy.tell("zero")
        readers = [subprocess.Popen([sys.executable, "-c", READ_ALL], stdout=subprocess.PIPE, text=True) for _ in range(8)]
        assert [reader.communicate(timeout=120)[0] for reader in readers] == ["3000000\n"] * 8
        packs = [visit for visit in proxy.visits() if visit[0] == "GET" and "/p/" in visit[1]]
        assert len(packs) == 1, packs
    finally:
        proxy.stop()
        server.stop()


def test_a_server_that_dies_costs_who_reads_no_error(data, runnel, tmp_path):
    """What it has not answered each fetches for itself; the next one is asked again."""
    names = files_of(data)
    with Volume("data") as volume:
        def read(mine):
            return [volume.load(name) == (data / name).read_bytes() for name in mine]

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            read_by = [pool.submit(read, names[part::4]) for part in range(4)]
            for _ in range(3):
                for pid in servers(runnel, tmp_path):
                    kill(pid)
                time.sleep(0.05)
            assert all(all(each.result()) for each in read_by)
    (runnel.home / "mounts.sock").unlink(missing_ok=True)  # Of the last one, which nobody may have followed.


@pytest.mark.long
def test_a_server_that_stands_still_is_not_waited_for(data, runnel, tmp_path):
    with Volume("data") as volume:
        (server,) = servers(runnel, tmp_path)
        os.kill(server, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            assert volume.load("text") == (data / "text").read_bytes()
            assert 5 < time.monotonic() - begin < 30
            begin = time.monotonic()
            for name in files_of(data)[:1000]:
                assert volume.load(name) == (data / name).read_bytes()
            assert time.monotonic() - begin < 8, "it is waited for once"
        finally:
            os.kill(server, signal.SIGKILL)
            (runnel.home / "mounts.sock").unlink()  # The next server would replace it.


def test_of_servers_that_are_started_at_once_one_stays(data, runnel, tmp_path):
    started = [subprocess.Popen([runnel.binary, "volume", "serve"]) for _ in range(8)]
    with Volume("data") as volume:
        assert volume.load("text") == (data / "text").read_bytes()
        (server,) = runnel.until(lambda: len(servers(runnel, tmp_path)) == 1 and servers(runnel, tmp_path))
        assert sum(process.poll() is None for process in started) <= 1
    os.kill(server, signal.SIGTERM)
    assert [process.wait(timeout=20) for process in started] == [0] * 8


def test_a_cache_that_cannot_be_is_refused_and_a_huge_one_costs_nothing(data, runnel, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match="File exists"):
        Volume("data", cache=tmp_path / "file")
    with Volume("data", cache=tmp_path / "cache", cache_size="100PiB") as volume:
        assert volume.load("text") == (data / "text").read_bytes()
        (server,) = servers(runnel, tmp_path)
        status = pathlib.Path(f"/proc/{server}/status").read_text()
    assert int(status.split("VmHWM:")[1].split()[0]) < 300_000, "kB"


def test_the_server_is_started_where_the_library_was_loaded_from(data, runnel, tmp_path):
    """Not where a relative path leads by now."""
    evil = tree(tmp_path / "elsewhere", {"lib/librunnel.so": b"", "bin/runnel": b"#!/bin/sh\ntouch ran\n"})
    (evil / "bin/runnel").chmod(0o755)
    code = (f"import os, runnel.data; runnel.data._library(); os.chdir({str(evil)!r}); "
            "print(runnel.data.Volume('data').load('deep/er/file'))")
    folder = LIBRARY.resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True,
                          env=os.environ | {"RUNNEL_LIBRARY": "lib/librunnel.so"})
    assert done.stdout == "b'x'\n", done.stderr
    assert len(servers(runnel, tmp_path)) == 1 and not (evil / "ran").exists()


def test_without_its_command_the_library_reads_by_itself(data, runnel, tmp_path):
    alone = tmp_path / "librunnel.so"
    shutil.copy(LIBRARY, alone)
    code = ("import sys; from runnel.data import Volume; volume = Volume('data', cache=sys.argv[1], cache_size='256MiB'); "
            "again = Volume('data', cache=sys.argv[1], cache_size='256MiB'); "
            "print(volume.load('deep/er/file'), again.load('deep/er/file'))")
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "cache"], env=os.environ | {"RUNNEL_LIBRARY": str(alone)},
                          capture_output=True, text=True)
    assert done.stdout == "b'x' b'x'\n", done.stderr
    assert servers(runnel, tmp_path) == []


def test_a_server_that_a_task_has_started_is_no_part_of_it(data, runnel, tmp_path):
    """It serves others, too: it outlives the task, and its memory does not count for it."""
    runnel.file("import time\nfrom runnel.data import Volume\nvolume = Volume('data')\nprint(volume.load('deep/er/file'))\n"
                "open('read', 'w').close()\ntime.sleep(60)\n", "reads.py")
    job = runnel.up(f"name: reads\nresources: {{memory: 1GiB}}\nrun: {sys.executable} reads.py")
    runnel.until(lambda: (runnel.work / "read").exists())
    (server,) = servers(runnel, tmp_path)
    assert "/runnel-" not in pathlib.Path(f"/proc/{server}/cgroup").read_text()
    with Volume("data") as volume:
        runnel.run("cancel", job)
        assert runnel.wait(job)["status"] == "CANCELLED"
        assert volume.load("text") == (data / "text").read_bytes()
        assert servers(runnel, tmp_path) == [server]


@needs_fuse[0]
@needs_fuse[1]
def test_mounts_and_processes_share_what_they_fetch(data, runnel, tmp_path):
    mounts = Mounts(runnel, tmp_path)
    try:
        folder = mounts.make("data", "mnt", "--cache", tmp_path / "cache", "--cache-size", "256MiB")
        for name in files_of(data):
            assert (folder / name).read_bytes() == (data / name).read_bytes()
        shutil.rmtree(tmp_path / "store/data/p")
        with Volume("data", cache=tmp_path / "cache", cache_size="256MiB") as volume:
            for name in files_of(data):
                assert volume.load(name) == (data / name).read_bytes()
    finally:
        mounts.end()


def put_file(volume, name, results):
    results.put((volume.version, volume.load(name)))


def test_a_volume_in_a_bucket(runnel, tmp_path, monkeypatch):
    server = S3Server(tmp_path).start()
    try:
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
            runnel.env[name] = value
        files = {f"f/{number}": os.urandom(3000) for number in range(500)} | {"long": os.urandom(5_000_000)}
        runnel.run("volume", "create", "far", "--store", "s3://bkt/some/prefix")
        runnel.run("volume", "put", tree(tmp_path / "source", files), "far")
        with Volume("far", store="s3://bkt/some/prefix") as volume:
            for name, expected in files.items():
                assert volume.load(name) == expected
            context = multiprocessing.get_context("fork")
            results = context.Queue()
            worker = context.Process(target=put_file, args=(volume, "long", results))
            worker.start()
            assert results.get(timeout=60) == (volume.version, files["long"])
            worker.join()
            assert worker.exitcode == 0
            server.kill()
            assert volume.load("f/7") == files["f/7"], "what is in memory is given"
            begin = time.monotonic()
        assert time.monotonic() - begin < 15, "closing waits for nobody"
    finally:
        server.stop()


def test_a_task_reads_volumes_of_its_home(data, runnel):
    """Whatever Python it has, and wherever the command is."""
    runnel.file("from runnel.data import Volume\nprint(Volume('data').load('deep/er/file'))\n", "reads.py")
    assert "b'x'" in runnel.run("run", "--", "/usr/bin/python3", "reads.py")


# --- fsspec.


def test_fsspec_reads_by_url(data):
    import fsspec
    with fsspec.open("runnel://data@latest/text", "r", encoding="utf-8") as file:
        assert file.readline() == "zweimal grüßen\n"
    files = fsspec.filesystem("runnel")
    assert sorted(files.ls("data", detail=False)) == sorted(f"data/{name}" for name in os.listdir(data))
    listed = {each["name"]: each for each in files.ls("runnel://data@latest/many/1")}
    assert len(listed) == 1000
    for name in ("1000", "1999"):
        info = listed[f"data@latest/many/1/{name}"]
        assert info["type"] == "file" and info["size"] == (data / "many/1" / name).stat().st_size
    assert files.info("data/link") | {"mtime": 0} == files.info("data/deep/er/file") | {
        "name": "data/link", "islink": True, "mtime": 0}
    assert files.glob("data/many/*/0*7") == sorted(f"data/{path.relative_to(data)}" for path in data.glob("many/*/0*7"))
    assert files.find("data/deep") == ["data/deep/er/file"]
    with files.open("data/text") as file:
        assert file.size == (data / "text").stat().st_size
    assert files.read_block("data/text", 5, 10) == (data / "text").read_bytes()[5:15]
    kinds = {each["name"]: each["type"] for each in files.ls("data")}
    assert (kinds["data/link"], kinds["data/folder"], kinds["data/deep"]) == ("file", "link", "directory")
    assert len(files.find("data")) == len(files_of(data)) + 1, "the link to a folder is not gone through"
    text = (data / "text").read_bytes()
    for start, end in ((None, None), (10, 20), (-10, None), (5, -5), (None, 7), (100, 50)):
        assert files.cat_file("data/text", start, end) == text[start:end], (start, end)
    assert files.cat(["data/empty", "data/link"]) == {"data/empty": b"", "data/link": b"x"}
    assert files.exists("data/text") and not files.exists("data/none") and files.isdir("data/many")
    with pytest.raises(FileNotFoundError):
        files.open("data/none")
    for write in (lambda: files.open("data/new", "wb"), lambda: files.rm("data/text"), lambda: files.mkdir("data/new"),
                  lambda: files.pipe_file("data/new", b"")):
        with pytest.raises(OSError, match="never changes"):
            write()


def test_a_pickled_file_system_stays_at_its_version(data, runnel):
    import fsspec
    file = fsspec.open("runnel://data/text", "rb")
    with file as opened:
        before = opened.read()
    (data / "text").write_text("second")
    runnel.run("volume", "put", data, "data")
    with pickle.loads(pickle.dumps(file)) as opened:
        assert opened.read() == before
    assert fsspec.filesystem("runnel").cat_file("data/text") == before, "a process stays at what it has found"
    fsspec.filesystem("runnel").invalidate_cache()
    with fsspec.open("runnel://data/text") as opened:
        assert opened.read() == b"second"


@pytest.mark.parametrize("path", ["nosuch", "nosuch/x", "data@nope", "data@nope/x", "data/nope", ""])
def test_what_is_not_there_does_not_exist_for_fsspec(data, path):
    import fsspec
    files = fsspec.filesystem("runnel")
    assert (files.exists(path), files.isdir(path), files.isfile(path)) == (False, False, False)
    assert files.exists("data/text")


def test_threads_share_what_fsspec_has_open(data, tmp_path):
    import fsspec
    names = files_of(data / "many/1")
    wrong = []

    def read():
        wrong.extend(name for name in names[:200] if fsspec.filesystem("runnel").cat_file(f"data/many/1/{name}")
                     != (data / "many/1" / name).read_bytes())

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(sessions(tmp_path)) == 1


def test_torch_loads_what_it_saved(runnel, tmp_path):
    script = """
import sys, fsspec, torch
from runnel.data import Volume
expected = torch.load(sys.argv[1])
with Volume("model") as volume, volume.open("model.pt") as file:
    assert torch.equal(torch.load(file)["weight"], expected["weight"])
with fsspec.open("runnel://model/model.pt") as file:
    assert torch.equal(torch.load(file)["weight"], expected["weight"])
"""
    made = "import sys, torch; torch.save({'weight': torch.randn(700, 700)}, sys.argv[1])"
    (tmp_path / "source").mkdir()
    run_script(made, tmp_path / "source/model.pt")
    runnel.run("volume", "create", "model")
    runnel.run("volume", "put", tmp_path / "source", "model")
    run_script(script, tmp_path / "source/model.pt")


def test_without_fsspec_it_says_what_is_missing():
    source = "import sys; sys.modules['fsspec'] = None\ntry: import runnel.filesystem\nexcept ImportError as error: print(error)"
    assert "pip install fsspec" in run_script(source)
    assert run_script("import sys, runnel.data; print('fsspec' in sys.modules)") == "False\n"


def test_fsspec_of_any_environment_knows_the_urls_of_volumes(runnel):
    subprocess.run(["/usr/bin/env", "python3", "-m", "venv", "--without-pip", runnel.work / "own"], check=True)
    theirs = next((runnel.work / "own/lib").glob("python3*/site-packages"))
    fsspec = next((ROOT / ".venv/lib").glob("python3*/site-packages/fsspec"))
    (theirs / "fsspec").symlink_to(fsspec)
    (runnel.work / "files").mkdir()
    (runnel.work / "files/a").write_text("1\n")
    runnel.run("volume", "create", "data")
    runnel.run("volume", "put", runnel.work / "files", "data")
    (runnel.work / "read.py").write_text("import fsspec; print(fsspec.open('runnel://data/a').open().read())")
    env = {name: value for name, value in runnel.env.items() if name != "PYTHONPATH"}
    assert runnel.run("run", "--", "own/bin/python", "read.py", env=env) == "b'1\\n'\n"


# --- The shared library itself.


def test_it_says_where_it_looked_for_the_library(tmp_path):
    source = "import runnel.data\ntry: runnel.data.Volume('data')\nexcept ImportError as error: print(error)"
    assert "which is no file" in run_script(source, RUNNEL_LIBRARY="/nowhere.so")
    (tmp_path / "runnel").symlink_to(ROOT / "python/runnel")
    alone = subprocess.run(["/usr/bin/python3", "-c", source], env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
                           text=True, capture_output=True, check=True)
    assert f"{tmp_path}/runnel/librunnel.so" in alone.stdout and "export RUNNEL_LIBRARY=FILE" in alone.stdout


def test_nothing_but_the_functions_of_c_can_be_seen():
    lines = subprocess.check_output(["nm", "-D", "--defined-only", LIBRARY], text=True).splitlines()
    declared = {"runnel_abi", "runnel_open", "runnel_reference", "runnel_open_reference", "runnel_version", "runnel_stat",
                "runnel_list", "runnel_read", "runnel_load", "runnel_close", "runnel_free"}
    assert {line.split()[-1] for line in lines} == declared


def test_it_can_be_loaded_after_anything_else():
    """Room for thread-local variables with fixed places may be gone by then: torch takes it."""
    assert "STATIC_TLS" not in subprocess.check_output(["readelf", "-dW", LIBRARY], text=True)


C_PROGRAM = """
#include "runnel.h"
#include <stdio.h>

int main(int count, char** words) {
  struct runnel_error error;
  runnel_volume* volume = runnel_open(words[1], NULL, NULL, NULL, NULL, &error);
  if (volume == NULL || count != 3) {
    fprintf(stderr, "%d: %s\\n", error.number, error.text);
    return 1;
  }
  static char buffer[65536];
  struct runnel_attributes found;
  int64_t size = runnel_load(volume, words[2], &found, buffer, sizeof buffer, &error);
  if (size < 0 || runnel_stat(volume, words[2], RUNNEL_FOLLOW_LINKS, &found, &error) < 0) {
    fprintf(stderr, "%d: %s\\n", error.number, error.text);
    runnel_free(volume);
    return 2;
  }
  fwrite(buffer, 1, (size_t)size, stdout);
  runnel_free(volume);
  return found.size == (uint64_t)size ? 0 : 3;
}
"""


def test_the_header_is_c(data, tmp_path):
    source = tmp_path / "reader.c"
    source.write_text(C_PROGRAM)
    compiler = shutil.which("clang-19") or shutil.which("cc")
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{HEADER.parent}", source,
                    LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}", "-o", tmp_path / "reader"], check=True)
    ran = subprocess.run([tmp_path / "reader", "data", "deep/er/file"], capture_output=True)
    assert (ran.returncode, ran.stdout) == (0, b"x")
    refused = subprocess.run([tmp_path / "reader", "data", "none"], capture_output=True, text=True)
    assert refused.returncode == 2 and refused.stderr.startswith(f"{errno.ENOENT}: there is no 'none' in data@")
