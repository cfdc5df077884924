"""What users' commands and badly timed kills do to a home, seen from the outside."""

import fcntl
import pathlib
import shutil
import signal

import pytest

from conftest import kill


def daemons(runnel):
    found = []
    for pid in runnel.pids():
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except FileNotFoundError:
            continue  # It has ended since it was listed.
        if b"daemon" in words:
            found.append(pid)
    return found


def test_a_command_of_any_length_ends_with_a_sentence(runnel):
    job = runnel.up("command: [" + "x" * 70_000 + "]\n")
    assert runnel.wait(job)["status"] == "FAILED"
    assert len(runnel.run("show", job)) < 20_000


def test_a_script_has_its_grace(runnel):
    job = runnel.up(
        "run: |\n"
        "  echo begins\n"
        "  sh -c 'trap \"sleep 2; echo saved; exit 0\" TERM; touch $RUNNEL_JOB_DIR/up; while :; do sleep 0.1; done'\n"
        "  echo goes on\n")
    runnel.until((runnel.home / "jobs" / job / "shared/up").exists)
    runnel.run("cancel", job)
    runnel.wait(job)
    assert runnel.run("logs", job).split("\n")[-2:] == ["saved", ""]


def test_output_survives_scripts_that_open_stderr_by_name(runnel):
    names = "abcdefgh"
    job = runnel.up(f"""
resources: {{cpus: 1}}
steps:
  quiet:
    params: {{x: [{", ".join(names)}]}}
    run: echo quiet-{{{{x}}}} >&2
  loud:
    depends_on: quiet
    params: {{x: [{", ".join(names)}]}}
    run: echo loud-{{{{x}}}} > /dev/stderr
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    runnel.run("logs", job)
    said = sorted(line.split()[-1] for line in runnel.err.splitlines())
    assert said == sorted(f"{step}-{name}" for step in ("quiet", "loud") for name in names)


def test_a_deleted_jobs_files_go_although_the_daemon_was_killed(runnel):
    kept = runnel.up("run: echo kept\n")
    deleted = runnel.up("run: echo deleted\n")
    for job in (kept, deleted):
        runnel.wait(job)
    jobs = runnel.home / "jobs"
    copy = runnel.work / "copy"
    shutil.copytree(jobs / deleted, copy)
    runnel.run("delete", deleted)
    runnel.until(lambda: not (jobs / deleted).exists() and not (runnel.home / "trash" / deleted).exists())
    kill(runnel.info()["daemon_pid"])
    # As if the kill had come before the removal, and in the midst of another.
    shutil.copytree(copy, jobs / deleted)
    shutil.copytree(copy, runnel.home / "trash" / deleted)
    runnel.run("ps")
    runnel.until(lambda: not (jobs / deleted).exists() and not (runnel.home / "trash" / deleted).exists())
    assert runnel.run("logs", kept) == "kept\n"


def test_a_daemon_that_dies_at_its_start_is_missed_and_another_started(runnel):
    runnel.home.mkdir()
    with open(runnel.home / "daemon.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        asker = runnel.start("ps")
        for pid in runnel.until(lambda: daemons(runnel)):
            kill(pid)
    _, err = asker.communicate(timeout=10)  # Not the 30 s that a slow one may take.
    assert asker.returncode == 0, err


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE])
def test_an_attached_run_that_is_ended_says_how_to_follow_its_job(runnel, end):
    attached = runnel.start("run", "--", "sh", "-c", "while [ ! -e enough ]; do echo more; sleep 0.1; done",
                            preexec_fn=lambda: signal.signal(end, signal.SIG_DFL))  # `nohup make test` ignores HUP.
    job = attached.stderr.readline().split()[1]
    assert attached.stdout.readline() == "more\n"
    if end == signal.SIGPIPE:  # As by `head`.
        attached.stdout.close()
        attached.stdout = None
    else:
        kill(attached.pid, end)
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == -end
    assert err.endswith(f"runnel: the job goes on: runnel logs -f {job}\n"), err
    (runnel.work / "enough").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def test_a_retry_soon_after_the_folder_of_its_job_was_removed_is_heard(runnel):
    job = runnel.up("run: echo hi; exit 3")
    assert runnel.wait(job)["status"] == "FAILED"
    shutil.rmtree(runnel.home / "jobs" / job)
    runnel.run("retry", job)  # Within the seconds that the runner keeps what the job had open.
    assert runnel.wait(job)["status"] == "FAILED"
    assert runnel.run("logs", job) == "hi\n" and runnel.err == ""


def test_output_whose_folder_is_gone_is_told(runnel):
    job = runnel.ended("run: echo hi")
    logs = runnel.home / "jobs" / job / "logs"
    shutil.rmtree(logs)
    assert runnel.run("logs", job, code=1) == ""
    assert runnel.err == f"runnel: damage: {logs} is gone, and with it all output of the job\n"
