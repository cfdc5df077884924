"""A home whose event log was damaged, cut or replaced: what it lost is named, and no file of a user's goes."""

import json
import os
import shutil
import subprocess

import pytest

MODEL = "run: |\n  echo weights > $RUNNEL_JOB_DIR/model.bin\n  echo said\n"


def refused(runnel):
    runnel.run("ps", code=1)
    return runnel.err


def models(runnel):
    return [path.read_text() for path in runnel.home.rglob("model.bin")]


def with_a_flipped_byte(log, wal, size):
    data = bytearray(wal.read_bytes())
    data[size + 100] ^= 4
    wal.write_bytes(data)


def cut(log, wal, size):
    os.truncate(wal, size)


def with_an_older_copy(log, wal, size):
    shutil.copy(log.with_name("older"), log)
    wal.unlink()


@pytest.mark.parametrize("damage", [cut, with_an_older_copy])
def test_files_outlive_their_record(runnel, damage):
    log, wal = runnel.home / "log", runnel.home / "log-wal"
    kept = runnel.ended(MODEL)
    shutil.copy(log, log.with_name("older"))
    size = wal.stat().st_size
    lost = runnel.ended(MODEL)
    runnel.kill()
    damage(log, wal, size)
    assert "fsck --repair" in refused(runnel)
    runnel.run("fsck", "--repair")
    said = runnel.err
    aside = runnel.home / "lost+found" / lost
    assert f"Job {lost}: its files are in {runnel.home}/jobs/{lost}" in said and str(aside) in said
    assert str(runnel.home / "jobs" / kept) not in said or damage is with_an_older_copy
    runnel.run("ps")
    runnel.until(lambda: (aside / "shared/model.bin").exists())
    assert len(models(runnel)) == 2
    notices = runnel.until(lambda: runnel.info()["notices"])
    assert any("lost+found" in notice and lost in notice for notice in notices), notices
    assert str(aside) in runnel.daemon_log()
    if damage is not with_an_older_copy:
        assert runnel.run("logs", kept) == "said\n"
    runnel.run("delete", runnel.ended(MODEL))
    runnel.rest()
    runnel.run("ps")
    runnel.rest()
    assert (aside / "shared/model.bin").exists()


def test_a_job_whose_end_was_lost_does_not_run_a_second_time(runnel):
    log, wal, runs, end = runnel.home / "log", runnel.home / "log-wal", runnel.work / "runs", runnel.work / "end"
    job = runnel.up(f"run: |\n  echo once >> {runs}\n  while [ ! -e {end} ]; do sleep 0.05; done\n")
    runnel.until(runs.exists)
    runnel.until(lambda: runnel.job(job)["status"] == "RUNNING")
    size = wal.stat().st_size
    end.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    runnel.kill()
    cut(log, wal, size)
    assert "fsck --repair" in refused(runnel)
    runnel.run("fsck", "--repair")
    assert f"runnel resume {job}" in runnel.err
    assert log.stat().st_mode & 0o777 == 0o600
    assert runnel.ended("run: true") and runnel.job(job)["status"] == "PAUSED"
    assert runs.read_text() == "once\n"
    runnel.run("resume", job)
    assert runnel.wait(job)["status"] == "SUCCEEDED" and runs.read_text() == "once\nonce\n"


@pytest.mark.parametrize("replaced", [False, True])
def test_a_log_that_is_taken_away_under_its_daemon_is_missed_at_once(runnel, replaced):
    log, older = runnel.home / "log", runnel.home / "older"
    runnel.ended(MODEL)
    shutil.copy(log, older)
    runnel.up("run: sleep 600")
    daemon = runnel.info()["daemon_pid"]
    if replaced:
        older.rename(log)
    else:
        log.unlink()
    runnel.until(lambda: not os.path.exists(f"/proc/{daemon}"))
    assert "was removed or replaced" in runnel.daemon_log()
    if not replaced:  # A copy of it beside its own write-ahead log is whole.
        assert "fsck --repair" in refused(runnel)
    runnel.kill()
    shutil.rmtree(runnel.home)


def test_a_link_where_the_home_keeps_its_log_is_named_and_left(runnel):
    log, far = runnel.home / "log", runnel.work / "far"
    job = runnel.ended(MODEL)
    runnel.rest()
    log.rename(far)
    log.symlink_to(far)
    for words in (["ps"], ["fsck", "--repair"]):
        runnel.run(*words, code=1)
        assert f"{log} is a link" in runnel.err, runnel.err
    remedy = runnel.err[runnel.err.index("mv "):].splitlines()[0]
    subprocess.run(remedy, shell=True, check=True)
    assert runnel.job(job)["status"] == "SUCCEEDED" and not far.exists()


def test_what_stands_behind_a_flipped_byte_is_kept(runnel):
    log, wal = runnel.home / "log", runnel.home / "log-wal"
    jobs = [runnel.ended(MODEL)]
    size = wal.stat().st_size
    jobs.append(runnel.ended(MODEL))
    runnel.kill()
    with_a_flipped_byte(log, wal, size)
    assert "fsck --repair" in refused(runnel)
    runnel.run("fsck", "--repair")
    assert "single pages" in runnel.err and str(runnel.home / "jobs") not in runnel.err
    assert sorted(job["id"] for job in runnel.json("ps", "-a")["jobs"]) == sorted(jobs)
    assert [runnel.run("logs", job) for job in jobs] == ["said\n"] * 2
    runnel.rest()


def gone(log, wal):
    log.unlink()


def gone_with_its_write_ahead_log(log, wal):
    log.unlink()
    wal.unlink()


def without_its_write_ahead_log(log, wal):
    wal.unlink()


def cut_to_half(log, wal):
    os.truncate(log, log.stat().st_size // 2)


@pytest.mark.parametrize("damage", [gone, gone_with_its_write_ahead_log, without_its_write_ahead_log, cut_to_half])
def test_a_log_that_is_gone_is_never_begun_anew(runnel, damage):
    jobs = [runnel.ended(MODEL) for _ in range(3)]
    runnel.rest()
    jobs.append(runnel.ended(MODEL))
    runnel.kill()
    damage(runnel.home / "log", runnel.home / "log-wal")
    for _ in range(3):
        assert "fsck --repair" in refused(runnel)
    assert len(list(runnel.home.glob("damaged-*"))) == 1, "one copy of one damage"
    runnel.run("fsck", code=1)
    assert "problem: " in runnel.err
    runnel.run("fsck", "--repair")
    said = runnel.err
    runnel.run("fsck")
    assert "all sound" in runnel.err
    for job in jobs:
        if f"Job {job}" not in said:
            assert runnel.job(job)["status"] == "SUCCEEDED"
    job = runnel.ended(MODEL)
    assert runnel.run("logs", job) == "said\n"
    assert len(models(runnel)) == 5


def test_a_log_of_which_nothing_is_left_is_missed(runnel):
    job = runnel.ended(MODEL)
    runnel.kill()
    for path in runnel.home.glob("log*"):
        path.unlink()
    for _ in range(2):
        said = refused(runnel)
        assert f"the event log {runnel.home}/log is gone" in said and "fsck --repair" in said
    runnel.run("fsck", code=1)
    assert f"{runnel.home}/log is gone" in runnel.err and "fsck --repair" in runnel.err
    runnel.run("fsck", "--repair")
    assert f"Job {job}: its files are in" in runnel.err
    runnel.run("ps")
    aside = runnel.home / "lost+found" / job / "shared/model.bin"
    runnel.until(aside.exists)
    assert runnel.run("logs", runnel.ended(MODEL)) == "said\n"


def without(path):
    path.unlink()


def emptied(path):
    os.truncate(path, 0)


def shorter_by_a_byte(path):
    os.truncate(path, path.stat().st_size - 1)


def overwritten(path):
    path.write_bytes(b"nonsense " * 30)


@pytest.mark.parametrize("damage, name", [
    (without, "index"), (emptied, "index"), (shorter_by_a_byte, "index"), (overwritten, "index"),
    (without, "0.0.out"), (emptied, "0.0.out"), (shorter_by_a_byte, "0.0.out")])
def test_lines_that_are_lost_are_named(runnel, damage, name):
    job = runnel.ended(MODEL)
    path = runnel.home / "jobs" / job / "logs" / name
    damage(path)
    out = runnel.run("logs", job, code=1)
    assert f"damage: {path.parent}" in runnel.err
    assert runnel.err.count("damage: ") == 1, "told once"
    assert out == "" or "said\n".startswith(out)
    documents = [json.loads(line) for line in runnel.run("logs", job, "-o", "json", code=1).splitlines()]
    assert any(str(path.parent) in document.get("damage", "") for document in documents), documents
    runnel.run("logs", job, "--tail", "5", code=1)
    assert f"damage: {path.parent}" in runnel.err


def test_an_empty_version_is_told_as_damage(runnel):
    runnel.ended(MODEL)
    runnel.rest()
    (runnel.home / "version").write_text("")
    runnel.run("ps", code=1)
    assert f"{runnel.home}/version names no version" in runnel.err and "echo 1 > " in runnel.err


def test_what_the_home_did_not_write_stays(runnel):
    runnel.ended("run: 'true'")
    runnel.kill()
    mine = [runnel.home / folder / name for folder in ("secrets", "trash") for name in ("hf_token", "keys/mine")]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    runnel.ended("run: 'true'")
    runnel.rest()
    assert [path.read_text() for path in mine] == ["mine"] * len(mine)
