"""A home whose event log was damaged, cut or replaced: what it lost is named, and no file of a user's goes."""

import os
import shutil
import signal

import pytest

MODEL = "run: |\n  echo weights > $RUNNEL_JOB_DIR/model.bin\n  echo said\n"


def kill(runnel):
    """Ends daemon and runner as a power loss would, without a last word."""
    for pid in runnel.pids():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    runnel.until(lambda: not runnel.pids())


def rest(runnel):
    """The daemon ends by itself, in order."""
    runnel.until(lambda: not runnel.pids(), timeout=60)


def ended(runnel, text):
    job = runnel.up(text)
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    return job


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


@pytest.mark.parametrize("damage", [with_a_flipped_byte, cut, with_an_older_copy])
def test_files_outlive_their_record(runnel, damage):
    log, wal = runnel.home / "log", runnel.home / "log-wal"
    kept = ended(runnel, MODEL)
    shutil.copy(log, log.with_name("older"))
    size = wal.stat().st_size
    lost = ended(runnel, MODEL)
    kill(runnel)
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
    runnel.run("delete", ended(runnel, MODEL))
    rest(runnel)
    runnel.run("ps")
    rest(runnel)
    assert (aside / "shared/model.bin").exists()


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
    jobs = [ended(runnel, MODEL) for _ in range(3)]
    rest(runnel)
    jobs.append(ended(runnel, MODEL))
    kill(runnel)
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
    job = ended(runnel, MODEL)
    assert runnel.run("logs", job) == "said\n"
    assert len(models(runnel)) == 5
