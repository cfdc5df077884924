"""A copy of a living home runs nothing a second time until somebody says that it shall; a moved home goes on."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from conftest import kill

LONG = "name: long\nresources: {cpus: 0.1}\nrun: |\n  echo once >> $COUNT\n  while [ ! -e $END ]; do sleep 0.05; done\n"


@pytest.fixture
def files(runnel):
    runnel.env.update(COUNT=str(runnel.work / "count"), END=str(runnel.work / "end"))
    return runnel.work / "count", runnel.work / "end"


def begun(runnel, files):
    job = runnel.up("envs: {COUNT: %s, END: %s}\n" % files + LONG)
    runnel.until(files[0].exists)
    return job


def in_home(runnel, home, *words, code=0):
    return runnel.run("--home", home, *words, code=code)


def test_a_copy_runs_nothing_until_it_is_adopted(runnel, files):
    count, end = files
    done = runnel.ended("run: echo said")
    job = begun(runnel, files)
    copy = runnel.home.parent / "copy"
    subprocess.run(["cp", "-a", runnel.home, copy], check=True)
    for words in (["ps"], ["run", "--", "true"], ["logs", done]):
        in_home(runnel, copy, *words, code=2)
        for part in (str(copy), str(runnel.home), "a second time", "home --adopt"):
            assert part in runnel.err, runnel.err
    in_home(runnel, copy, "fsck")
    assert count.read_text() == "once\n"
    in_home(runnel, copy, "home", "--adopt")
    assert f"job {job} was unfinished" in runnel.err and f"runnel cancel {job}" in runnel.err
    runnel.until(lambda: count.read_text() == "once\nonce\n")
    assert runnel.job(job)["status"] == "RUNNING", "the first one goes on"
    in_home(runnel, copy, "cancel", job)
    assert in_home(runnel, copy, "logs", done) == "said\n"
    end.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert count.read_text() == "once\nonce\n"
    in_home(runnel, copy, "wait", job, code=143)
    runnel.until(lambda: not [pid for pid in pids_of(copy)], timeout=60)


def pids_of(home):
    mark = str(home).encode() + b"\0"
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if mark in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


def test_a_home_that_was_moved_or_restored_goes_on(runnel, files):
    count, end = files
    job = begun(runnel, files)
    end.touch()
    runnel.wait(job)
    runnel.rest()
    aside = runnel.home.parent / "aside"
    shutil.copytree(runnel.home, aside)
    shutil.rmtree(runnel.home)
    shutil.copytree(aside, runnel.home)  # A restored backup: another folder in the same place.
    shutil.rmtree(aside)
    assert runnel.job(job)["status"] == "SUCCEEDED"
    runnel.rest()
    shutil.copytree(runnel.home, aside)
    shutil.rmtree(runnel.home)  # Moved to another disk.
    assert in_home(runnel, aside, "ps", "-a", "-o", "name").split() == [job]
    runnel.until(lambda: not pids_of(aside), timeout=60)
    aside.rename(runnel.home)
    in_home(runnel, runnel.home, "home", "--adopt")
    assert "is no copy" in runnel.err


def test_a_damaged_record_of_its_place_is_none(runnel):
    runnel.ended("run: true")
    runnel.rest()
    for text in ("", "{", '{"path": "/"}'):
        (runnel.home / "place.json").write_text(text)
        runnel.run("ps")
        runnel.rest()


def test_a_daemon_whose_home_was_moved_away_leaves_the_next_one_its_socket(runnel, files):
    count, end = files
    begun(runnel, files)
    old, aside = runnel.info(), runnel.home.parent / "aside"
    runnel.home.rename(aside)
    job = runnel.up("envs: {COUNT: %s, END: %s}\n" % files + LONG)
    runnel.until(lambda: count.read_text() == "once\nonce\n")
    new = runnel.info()
    runnel.until(lambda: not os.path.exists(f"/proc/{old['daemon_pid']}"))  # It ends of its own accord.
    assert new["runner_pid"] != old["runner_pid"]
    os.kill(old["runner_pid"], signal.SIGTERM)
    runnel.until(lambda: not os.path.exists(f"/proc/{old['runner_pid']}"))
    assert (runnel.home / "daemon.sock").is_socket() and (runnel.home / "runner" / "journal").exists()
    assert runnel.info()["daemon_pid"] == new["daemon_pid"]
    end.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def test_a_living_home_that_is_moved_makes_nothing_where_it_was(runnel, files):
    count, end = files
    aside = runnel.home.parent / "aside"
    ended = runnel.ended("run: echo said")
    runnel.home.rename(aside)
    in_home(runnel, aside, "run", "--", "true", code=None)  # Or refused: the daemon has not seen it yet.
    assert in_home(runnel, aside, "logs", ended) == "said\n"
    in_home(runnel, aside, "run", "--", "true")
    assert not runnel.home.exists()
    daemon = in_home(runnel, aside, "home", "-o", "json")
    aside.rename(runnel.home)
    runnel.until(lambda: not os.path.exists(f"/proc/{json.loads(daemon)['daemon_pid']}"))
    job = begun(runnel, files)
    runnel.home.rename(aside)
    runnel.until(lambda: not in_home(runnel, aside, "ps", code=None))
    remedy = f"mv {aside} {runnel.home}"
    assert remedy in runnel.err and not runnel.home.exists(), runnel.err
    aside.rename(runnel.home)
    end.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED" and count.read_text() == "once\n"


def test_a_living_home_that_is_moved_to_another_disk_runs_nothing_twice(runnel, files):
    count, end = files
    job = begun(runnel, files)
    first, old = task_of(count), runnel.info()
    aside = runnel.home.parent / "aside"
    subprocess.run(["cp", "-a", runnel.home, aside], check=True)
    shutil.rmtree(runnel.home)
    in_home(runnel, aside, "ps")
    runnel.until(lambda: count.read_text() == "once\nonce\n")
    assert not os.path.exists(f"/proc/{first}"), "two of them at once"
    for name in ("daemon_pid", "runner_pid"):
        runnel.until(lambda name=name: not os.path.exists(f"/proc/{old[name]}"))
    end.touch()
    in_home(runnel, aside, "wait", job)
    assert not runnel.home.exists()
    runnel.until(lambda: not pids_of(aside), timeout=60)


def test_homes_do_not_share_a_jobs_folder(runnel, files):
    count, end = files
    big = runnel.home.parent / "big"
    big.mkdir()
    runnel.home.mkdir(mode=0o700)
    (runnel.home / "jobs").symlink_to(big)
    runnel.run("ps")
    copy, other = runnel.home.parent / "copy", runnel.home.parent / "other"
    subprocess.run(["cp", "-a", runnel.home, copy], check=True)
    job = begun(runnel, files)
    in_home(runnel, copy, "home", "--adopt", code=2)
    (copy / "place.json").unlink()
    in_home(runnel, copy, "ps", code=2)
    other.mkdir(mode=0o700)
    (other / "jobs").symlink_to(big)
    for words in (["ps"], ["fsck"]):
        in_home(runnel, other, *words, code=2)
        for part in (str(other), f"the home {runnel.home}", f"mv {other}/jobs", ".home.json"):
            assert part in runnel.err, runnel.err
    assert (big / job / "logs").is_dir() and not (copy / "lost+found").exists()
    (other / "jobs").rename(other / "jobs.aside")
    in_home(runnel, other, "ps")
    end.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    runnel.until(lambda: not pids_of(copy) and not pids_of(other), timeout=60)


def test_jobs_on_another_disk_are_removed_and_set_aside_there(runnel):
    others = [folder for folder in ("/dev/shm", "/tmp") if os.stat(folder).st_dev != os.stat(runnel.work).st_dev]
    if not others:
        pytest.skip("there is one disk only")
    big = pathlib.Path(tempfile.mkdtemp(dir=others[0]))
    try:
        runnel.home.mkdir(mode=0o700)
        (runnel.home / "jobs").symlink_to(big)
        job = runnel.ended("run: echo weights > $RUNNEL_JOB_DIR/model.bin")
        runnel.run("delete", job)
        runnel.until(lambda: not any((big / folder / job).exists() for folder in ("", ".trash")))
        runnel.rest()
        (big / "1m83abcdefgh/shared").mkdir(parents=True)
        (big / "1m83abcdefgh/shared/model.bin").write_text("weights")
        runnel.run("ps")
        notices = runnel.until(lambda: runnel.info()["notices"])
        assert f"{big}/.lost+found holds the files of 1 job" in notices[0], notices
        assert (big / ".lost+found/1m83abcdefgh/shared/model.bin").read_text() == "weights"
        runnel.rest()
    finally:
        shutil.rmtree(big)


def test_what_is_mounted_in_the_folder_of_a_deleted_job_stays(runnel):
    precious, job = runnel.work / "precious", runnel.ended("run: mkdir $RUNNEL_JOB_DIR/data")
    precious.mkdir()
    (precious / "file").write_text("x")
    place = (runnel.home / "jobs" / job / "shared/data").resolve()
    if subprocess.run(["mount", "--bind", precious, place], check=False).returncode != 0:
        pytest.skip("this machine mounts nothing")
    try:
        runnel.run("delete", job)
        notices = runnel.until(lambda: runnel.info()["notices"])
        assert str(place) in notices[0] and "umount" in notices[0], notices
        assert (precious / "file").exists()
    finally:
        subprocess.run(["umount", place], check=True)
    runnel.rest()
    runnel.run("ps")
    runnel.until(lambda: not any((runnel.home / folder / job).exists() for folder in ("jobs", "trash")))
    assert (precious / "file").exists()


def test_a_copy_that_leads_to_the_jobs_of_its_original_is_adopted_with_its_own(runnel):
    big = runnel.home.parent / "big"
    big.mkdir()
    runnel.home.mkdir(mode=0o700)
    (runnel.home / "jobs").symlink_to(big)
    job = runnel.ended("run: echo said")
    copy = runnel.home.parent / "copy"
    subprocess.run(["cp", "-a", runnel.home, copy], check=True)
    in_home(runnel, copy, "home", "--adopt", code=2)
    remedy = next(part for part in runnel.err.split(": ") if part.startswith("mv ")).strip()
    subprocess.run(remedy, shell=True, check=True)
    in_home(runnel, copy, "home", "--adopt")
    in_home(runnel, copy, "delete", job)
    runnel.until(lambda: not (copy / "jobs" / job).exists())
    assert runnel.run("logs", job) == "said\n"
    runnel.until(lambda: not pids_of(copy), timeout=60)


@pytest.mark.parametrize("way", ["without its record", "in the place of the first"])
def test_a_copy_that_is_not_known_for_one_ends_nothing_of_the_first(runnel, files, way):
    count, end = files
    job = begun(runnel, files)
    first, task = runnel.info(), task_of(count)
    copy, aside = runnel.home.parent / "copy", runnel.home.parent / "aside"
    subprocess.run(["cp", "-a", runnel.home, copy], check=True)
    if way == "without its record":
        (copy / "place.json").unlink()
    else:
        runnel.home.rename(aside)
        copy.rename(runnel.home)
        copy = runnel.home
    in_home(runnel, copy, "ps")
    runnel.until(lambda: count.read_text() == "once\nonce\n")
    assert os.path.exists(f"/proc/{task}") and os.path.exists(f"/proc/{first['runner_pid']}")
    ended = [event for event in in_home(runnel, copy, "events", job).splitlines() if "attempt.ended" in event]
    assert ended and not any("user" in event for event in ended), ended
    end.touch()
    in_home(runnel, copy, "wait", job)
    # One after the other: a daemon that ends still starts a runner in the place of one that is lost.
    for pid in (first["daemon_pid"], first["runner_pid"]):
        kill(pid, signal.SIGTERM)
        runnel.until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"))
    runnel.until(lambda: not pids_of(copy) and not pids_of(runnel.home), timeout=60)


def task_of(count):
    mark = b"COUNT=%s\0" % str(count).encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as environ, open(f"/proc/{name}/cmdline", "rb") as words:
                if mark in environ.read() and b"echo once" in words.read():
                    return int(name)
        except OSError:
            pass
    raise AssertionError("the task is not there")
