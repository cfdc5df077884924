"""A home that cannot be written: its file system is read-only, another user's, or out of space or of inodes."""

import os
import subprocess
import time

import pytest
from conftest import BINARY, Runnel, kill

if os.geteuid() != 0:
    pytest.skip("only root mounts file systems", allow_module_level=True)

COMMANDS = (("ps",), ("show", "JOB"), ("logs", "JOB"), ("run", "--", "true"), ("fsck",))


class Disk:
    """A small file system of its own, in memory."""

    def __init__(self, folder, options):
        self.folder = folder / "disk"
        self.folder.mkdir()
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder], stderr=subprocess.PIPE, text=True)
        if made.returncode:
            pytest.skip(f"this machine mounts no tmpfs: {made.stderr.strip()}")

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.folder], check=True)

    def fill_inodes(self):
        filler = self.folder / "filler"
        filler.mkdir(exist_ok=True)
        for number in range(10_000):
            try:
                (filler / str(number)).touch()
            except OSError:
                return

    def fill_space(self):
        with (self.folder / "filler").open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    def clear(self):
        subprocess.run(["rm", "-rf", self.folder / "filler"], check=True)


def on_a_disk(folder, options):
    disk = Disk(folder, options)
    home = Runnel(disk.folder, answers=folder / "answers.jsonl")
    try:
        yield disk, home
        home.close()
    finally:
        for pid in home.pids():
            os.kill(pid, 9)
        subprocess.run(["umount", "--lazy", disk.folder], check=True)


@pytest.fixture
def few_inodes(tmp_path):
    yield from on_a_disk(tmp_path, "size=64m,nr_inodes=120")


@pytest.fixture
def small(tmp_path):
    yield from on_a_disk(tmp_path, "size=64m")


def test_a_read_only_home_is_named_by_every_command(small):
    disk, home = small
    job = home.ended("run: echo hi")
    home.rest()
    disk.remount("ro")
    for words in COMMANDS:
        home.run(*(job if word == "JOB" else word for word in words), code=1)
        said = home.err.strip()
        assert said.count("\n") == 0 and f"the home {home.home} cannot be used" in said, (words, said)
        assert "Read-only file system" in said and "remount,rw" in said, (words, said)
    disk.remount("rw")
    assert home.run("logs", job) == "hi\n"


def test_a_home_without_permission_is_named_by_every_command(small):
    _, home = small
    job = home.ended("run: echo hi")
    home.rest()
    home.home.chmod(0o555)
    limited = ["setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override", BINARY]  # As anybody but root.
    for words in COMMANDS:
        words = [job if word == "JOB" else word for word in words]
        ran = subprocess.run([*limited, *words], env=home.env, stderr=subprocess.PIPE, text=True, timeout=60)
        assert ran.returncode == 1 and f"the home {home.home} cannot be used" in ran.stderr, (words, ran.stderr)
        assert "Permission denied" in ran.stderr and "as the owner of" in ran.stderr, (words, ran.stderr)
    home.home.chmod(0o700)


def test_out_of_inodes_what_waits_is_told_and_goes_on(few_inodes):
    disk, home = few_inodes
    kept = home.ended("run: echo hi")
    disk.fill_inodes()
    waiting = home.up("run: echo there")
    home.until(lambda: "inodes are free" in home.json("home").get("disk_full", {}).get("message", ""))
    assert "disk: DiskFull: the disk of the home is full: " in home.run("explain", waiting)
    home.run("ps")
    assert "inodes" in home.err
    attached = home.start("run", "--", "true")
    told = attached.stderr.readline() + attached.stderr.readline()
    assert "inodes are free (see df -i)" in told, told
    disk.clear()
    assert attached.wait(60) == 0
    assert home.wait(waiting)["status"] == "SUCCEEDED"
    assert home.run("logs", waiting) == "there\n" and home.run("logs", kept) == "hi\n"
    assert "disk_full" not in home.json("home")


def test_out_of_inodes_a_new_daemon_deletes(few_inodes):
    disk, home = few_inodes
    kept = home.ended("run: echo hi")
    home.rest()
    disk.fill_inodes()
    assert home.run("logs", kept) == "hi\n"
    home.run("delete", kept)
    home.until(lambda: not (home.home / "jobs" / kept).exists())
    disk.clear()
    home.rest()
    home.ended("run: echo hi")
    assert (home.home / "inode-reserve").exists()


def test_out_of_inodes_the_files_of_a_deleted_job_go(few_inodes):
    disk, home = few_inodes
    kept = home.ended("run: head -c 6M /dev/zero > $RUNNEL_JOB_DIR/large")
    running = home.up("run: sleep 600")
    home.until(lambda: home.job(running)["status"] == "RUNNING")
    disk.fill_inodes()
    home.run("delete", kept)
    home.until(lambda: not (home.home / "jobs" / kept).exists())
    home.run("cancel", running)
    home.until(lambda: home.job(running)["status"] == "CANCELLED")


def test_out_of_inodes_a_daemon_that_cannot_say_so_has_it_said(few_inodes):
    disk, home = few_inodes
    kept = home.ended("run: echo hi")
    home.rest()
    subprocess.run(["rm", "-r", home.home / "inode-reserve"], check=True)  # Else it begins with that.
    disk.fill_inodes()
    refused = 0
    for freed in range(12):  # Its daemon comes further with each, until there are enough.
        home.run("ps", code=None)
        if home.code == 0:
            break
        refused += 1
        assert "inodes are free (see df -i)" in home.err, home.err
        (disk.folder / "filler" / str(freed)).unlink()
    assert refused > 1
    disk.clear()
    assert kept in home.run("ps", "-a")


def test_out_of_space_the_end_of_what_runs_is_kept(small):
    disk, home = small
    home.run("ps")
    attached = home.start("run", "--", "sh", "-c", "sleep 2")
    home.until(lambda: home.json("ps")["jobs"] and home.json("ps")["jobs"][0]["status"] == "RUNNING")
    disk.fill_space()
    assert attached.wait(30) == 0
    assert "is paused" not in attached.stderr.read()
    job = home.json("ps", "-a")["jobs"][0]["id"]
    home.kill()
    disk.clear()
    assert home.job(job)["status"] == "SUCCEEDED"


def test_a_task_that_fails_for_a_full_disk_is_told_so_afterwards(small):
    disk, home = small
    go = disk.folder.parent / "go"  # Elsewhere: there is no room for it once the disk is full.
    waits = f"while [ ! -e {go} ]; do sleep 0.05; done"
    job = home.up(f"run: |\n  {waits}\n  head -c 20000000 /dev/zero > $RUNNEL_TASK_DIR/large\n")
    home.until(lambda: home.job(job)["status"] == "RUNNING")
    disk.fill_space()
    go.touch()
    home.until(lambda: home.job(job)["status"] == "FAILED")
    home.until(lambda: "disk of the home is full" in home.run("home", "logs"), 20)
    disk.clear()
    home.until(lambda: "disk of the home has room again" in home.run("home", "logs"), 20)
    for words in (("explain", job), ("show", job)):
        assert ": the disk of the home was full when it ended" in home.run(*words), words


def test_out_of_space_a_daemon_that_cannot_say_so_has_it_said(small):
    disk, home = small
    kept = home.ended("run: echo hi")
    home.rest()
    (home.home / "log-reserve").unlink()  # Else it opens with that.
    disk.fill_space()
    home.run("ps", code=1)
    assert "full; free some space" in home.err or "the disk of the home is full: " in home.err, home.err
    disk.clear()
    assert home.run("logs", kept) == "hi\n"


def test_on_a_full_disk_nothing_begins(small):
    """What a node was handed ahead waits for room: on a full disk it would fail for nothing."""
    disk, home = small
    lines = f"while [ -e {disk.folder}/hold ]; do sleep 0.05; done; head -c 100000 /dev/zero > $RUNNEL_TASK_DIR/out"
    (disk.folder / "hold").touch()
    job = home.up(f"foreach: {list(range(40))}\nresources: {{cpus: 1}}\nrun: |\n  {lines}\n")
    home.until(lambda: "RUNNING" in home.job(job)["counts"])
    disk.fill_space()
    begun = home.job(job)["counts"]["RUNNING"]
    (disk.folder / "hold").unlink()
    time.sleep(4)
    disk.clear()
    ended = home.wait(job)["counts"]
    assert ended.get("FAILED", 0) <= begun, ended


def test_a_runner_that_is_killed_on_a_full_disk_comes_back(small):
    disk, home = small
    jobs = [home.up("run: sleep 600") for _ in range(2)]
    for job in jobs:
        home.until(lambda job=job: home.job(job)["status"] == "RUNNING")
    disk.fill_space()
    kill(home.info()["runner_pid"])
    disk.fill_space()
    home.run("cancel", jobs[0])
    home.run("halt", jobs[1])
    assert home.wait(jobs[0])["status"] == "CANCELLED"
    home.until(lambda: home.job(jobs[1])["status"] == "PAUSED")


def test_a_daemon_that_is_killed_on_a_full_disk_comes_back(small):
    """Its lock names it in a block of its own, which is never given up."""
    disk, home = small
    large = home.ended('run: head -c 6M /dev/zero > "$RUNNEL_JOB_DIR/large"')
    home.rest()
    (home.home / "daemon.lock").write_text("")
    disk.fill_space()
    home.run("delete", large)
    home.until(lambda: not (home.home / "jobs" / large).exists())


def test_out_of_space_what_frees_room_is_done(small):
    """To delete, cancel and halt are the remedies for a full disk: they are not refused for want of room."""
    disk, home = small
    large = home.ended('run: head -c 6M /dev/zero > "$RUNNEL_JOB_DIR/large"')
    running = [home.up("run: sleep 600") for _ in range(2)]
    for job in running:
        home.until(lambda job=job: home.job(job)["status"] == "RUNNING")
    disk.fill_space()
    home.run("run", "-d", "--", "true", code=1)
    assert "nothing was accepted" in home.err, home.err
    home.run("cancel", running[0])
    home.run("halt", running[1])
    assert home.wait(running[0])["status"] == "CANCELLED"
    home.until(lambda: home.job(running[1])["status"] == "PAUSED")
    home.run("delete", large)
    home.until(lambda: not (home.home / "jobs" / large).exists())
    home.ended("run: echo hi")


# Each writes while it ends: what it is granted for that it takes from whoever wants to tell of its end.
WRITERS = ["trap 'head -c 100M /dev/zero > \"$RUNNEL_JOB_DIR/last\"; exit 0' TERM; while :; do sleep 0.1; done",
           "trap '' TERM; while :; do cat /dev/zero >> \"$RUNNEL_JOB_DIR/large\" || sleep 0.1; done"]


@pytest.mark.parametrize("script", WRITERS)
@pytest.mark.parametrize("verb, end", [("cancel", "CANCELLED"), ("halt", "PAUSED")])
def test_out_of_space_a_job_that_writes_while_it_ends_ends(small, script, verb, end):
    disk, home = small
    kept = home.ended('run: head -c 6M /dev/zero > "$RUNNEL_JOB_DIR/large"')
    writer = home.up(f"grace: 1s\nrun: |\n  {script}\n")
    home.until(lambda: home.job(writer)["status"] == "RUNNING")
    disk.fill_space()
    home.run("run", "-d", "--", "true", code=1)
    home.run(verb, writer)
    home.until(lambda: home.job(writer)["status"] == end)
    home.run("delete", kept)
    if end == "PAUSED":
        home.run("cancel", writer)
    home.run("delete", writer)
    home.ended("run: echo hi")
    assert (home.home / "log-reserve").exists()


def test_out_of_space_a_new_daemon_deletes(small):
    disk, home = small
    large = home.ended('run: head -c 6M /dev/zero > "$RUNNEL_JOB_DIR/large"')
    home.rest()
    disk.fill_space()
    home.run("delete", large)
    home.until(lambda: not (home.home / "jobs" / large).exists())
    home.ended("run: echo hi")


@pytest.fixture
def full_store(runnel, tmp_path):
    """A volume of two puts, each with packs of its own, on a disk that is full."""
    disk = Disk(tmp_path, "size=64m")
    try:
        runnel.run("volume", "create", "data", "--store", f"file://{disk.folder}/store")
        for name in ("kept", "other"):
            source = tmp_path / name
            source.mkdir()
            for number in range(100):
                (source / str(number)).write_bytes(os.urandom(100_000))
            runnel.run("volume", "put", source, f"data:/{name}")
        runnel.run("volume", "tag", "data", "first")
        disk.fill_space()
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", disk.folder], check=True)


def test_a_full_store_is_left_by_rm_and_gc(runnel, full_store, tmp_path):
    runnel.run("volume", "put", tmp_path / "kept", "data:/more", code=1)
    assert "No space left on device" in runnel.err, runnel.err
    runnel.run("volume", "rm", "data:/other")
    runnel.run("volume", "tag", "data", "first", "--delete")
    assert runnel.json("volume", "gc", "data", "--keep", "0s")["bytes"] > 10_000_000
    assert (full_store.folder / "store/.runnel/reserve").exists() is False, "the next one who opens the store holds it"
    runnel.run("volume", "put", tmp_path / "kept", "data:/more")
    assert (full_store.folder / "store/.runnel/reserve").stat().st_size == 4 << 20
    runnel.run("volume", "get", "data:/more", tmp_path / "copy")
    for number in range(100):
        assert (tmp_path / "copy" / str(number)).read_bytes() == (tmp_path / "kept" / str(number)).read_bytes()
    assert runnel.run("volume", "fsck", "data").endswith("whole\n")


def test_a_store_without_inodes_is_left_by_rm_and_gc(runnel, full_store, tmp_path):
    full_store.clear()
    full_store.remount("nr_inodes=120")
    runnel.run("volume", "versions", "data")  # Opened with room, the store holds its reserve.
    full_store.fill_inodes()
    runnel.run("volume", "put", tmp_path / "kept", "data:/more", code=1)
    assert "No space left on device" in runnel.err, runnel.err
    runnel.run("volume", "rm", "data:/other")
    runnel.run("volume", "tag", "data", "first", "--delete")
    assert runnel.json("volume", "gc", "data", "--keep", "0s")["bytes"] > 10_000_000
    full_store.clear()
    runnel.run("volume", "put", tmp_path / "kept", "data:/more")
    assert len(list((full_store.folder / "store/.runnel/inodes").iterdir())) == 16
    assert runnel.run("volume", "fsck", "data").endswith("whole\n")


def test_gc_alone_leaves_a_full_store_of_versions_that_are_not_kept(runnel, full_store):
    full_store.clear()
    runnel.run("volume", "rm", "data:/other")
    runnel.run("volume", "tag", "data", "first", "--delete")
    full_store.fill_space()
    assert runnel.json("volume", "gc", "data", "--keep", "0s")["bytes"] > 10_000_000
    assert runnel.run("volume", "fsck", "data").endswith("whole\n")
