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
    runnel.run("fsck", "--repair", code=None)
    runnel.run("ps")
    aside = runnel.home / "lost+found" / lost
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
