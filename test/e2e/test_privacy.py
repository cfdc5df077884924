"""Nothing of a home is other people's: not the shell that started it, not its files."""

import os
import pathlib
import signal
import socket
import stat
import tempfile

import pytest

from conftest import kill

SECRET = "of-this-shell-alone"


def environment_of(pid):
    text = pathlib.Path(f"/proc/{pid}/environ").read_text()
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def open_entries(folder, but=()):
    """What other users could read or enter, links and `but` aside."""
    found = []
    for path in [folder, *folder.rglob("*")]:
        if path.is_symlink() or path.name in but or not path.exists():
            continue
        if mode_of(path) & 0o077:
            found.append(f"{path} {mode_of(path):o}")
    return found


def test_the_starters_shell_is_in_no_environment_of_ours(runnel):
    runnel.env["HF_TOKEN"] = SECRET
    runnel.env["OTHER_TOKEN"] = SECRET
    file = runnel.file("secrets: {HF_TOKEN: 'env:HF_TOKEN'}\nrun: test \"$HF_TOKEN\" = " + SECRET)
    runnel.run("run", file)  # It starts the daemon, and the daemon its runner.
    info = runnel.info()
    allowed = {"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER", "RUNNEL_ANSWERS", "RUNNEL_TURN_MAX", "LD_LIBRARY_PATH", "LD_PRELOAD",
               "ASAN_OPTIONS", "ASAN_SYMBOLIZER_PATH", "LSAN_OPTIONS", "TSAN_OPTIONS", "TSAN_SYMBOLIZER_PATH",
               "UBSAN_OPTIONS", "LLVM_PROFILE_FILE", "RUNNEL_ATTEMPT_KEY"}
    for pid in (info["daemon_pid"], info["runner_pid"]):
        environment = environment_of(pid)
        assert set(environment) <= allowed | ({"CUDA_VISIBLE_DEVICES"} if pid == info["daemon_pid"] else set()), sorted(environment)
        assert environment["RUNNEL_ATTEMPT_KEY"] == "detached"
    seen = runnel.run("run", "--", "sh", "-c", f"cat /proc/$PPID/environ /proc/{info['daemon_pid']}/environ | tr '\\0' '\\n'")
    assert "PATH=" in seen and SECRET not in seen


def test_files_of_a_home_are_its_owners_alone_and_those_of_tasks_are_the_users(runnel):
    before = os.umask(0o022)
    try:
        runnel.run("run", "--name", "writes", "--", "sh", "-c", "umask; touch shown; touch $RUNNEL_JOB_DIR/kept; echo talk")
    finally:
        os.umask(before)
    assert mode_of(runnel.work / "shown") == 0o644
    assert mode_of(runnel.home) == 0o700
    assert (runnel.home / "log-wal").exists() and list((runnel.home / "jobs").iterdir())
    assert open_entries(runnel.home, but=("kept",)) == []


def test_a_home_that_others_could_read_is_closed(runnel):
    runnel.run("run", "--", "true")
    pid = runnel.info()["daemon_pid"]
    kill(pid, signal.SIGTERM)
    runnel.until(lambda: not pathlib.Path(f"/proc/{pid}").exists())
    for path in (runnel.home, runnel.home / "jobs"):
        path.chmod(0o755)
    (runnel.home / "log").chmod(0o644)
    runnel.run("ps")
    assert "its mode was 0755" in runnel.err
    assert open_entries(runnel.home) == []
    runnel.run("ps", "-a")
    assert runnel.err == ""


def test_an_empty_folder_that_others_can_read_becomes_a_closed_home(runnel):
    runnel.home.mkdir(mode=0o755)
    runnel.run("run", "--", "true")
    assert mode_of(runnel.home) == 0o700


def test_a_volume_is_made_in_a_closed_home_or_not_at_all(runnel):
    runnel.home.mkdir(mode=0o755)
    (runnel.home / "thesis.tex").write_text("mine")
    for words in (["create", "data"], ["load", runnel.work / "dump", "data"]):
        runnel.run("volume", *words, code=None)
        assert not (runnel.home / "volumes").exists(), words
    runnel.run("volume", "create", "data", code=1)
    assert f"chmod 700 {runnel.home}" in runnel.err
    (runnel.home / "thesis.tex").unlink()
    runnel.run("volume", "create", "data")
    assert mode_of(runnel.home) == 0o700
    runnel.home.chmod(0o755)  # As `chmod -R` does.
    runnel.run("run", "--", "true")
    assert "its mode was 0755" in runnel.err and mode_of(runnel.home) == 0o700


def test_a_folder_that_is_not_a_homes_alone_is_refused_with_the_remedy(runnel):
    runnel.home.mkdir(mode=0o755)
    (runnel.home / "thesis.tex").write_text("mine")
    runnel.run("ps", code=1)
    assert f"chmod 700 {runnel.home}" in runnel.err and f"{runnel.home}/runnel" in runnel.err
    assert mode_of(runnel.home) == 0o755
    runnel.home.chmod(0o1777)
    (runnel.home / "thesis.tex").unlink()
    runnel.run("ps", code=1)
    assert mode_of(runnel.home) == 0o1777
    runnel.home.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_nothing_is_said_to_another_users_daemon(runnel):
    """A folder that everybody may write, with a socket of somebody's where the home's would be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o1777)
        stranger = socket.socket(socket.AF_UNIX)
        os.seteuid(65534)  # The kernel tells clients who listened.
        try:
            stranger.bind(f"{folder}/daemon.sock")
            stranger.listen()
        finally:
            os.seteuid(0)
        stranger.setblocking(False)
        runnel.env["RUNNEL_HOME"] = folder
        runnel.env["MYTOK"] = SECRET
        for words in (("ps",), ("run", "-d", "--secret", "MYTOK", "--", "true")):
            runnel.run(*words, code=1)
            assert "another user (uid 65534) listens on" in runnel.err, words
        heard = b""
        try:
            while True:
                heard += stranger.accept()[0].recv(1 << 16)
        except BlockingIOError:
            pass
        assert heard == b""
        stranger.close()
