"""Volumes of jobs: what tasks read, at which version, by how many mounts, and what is left of these."""

import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from conftest import BINARY, kill
from test_mount import ASKS_AGAIN, Mounts, forget, is_mounted
from test_s3 import server  # noqa: F401  A fixture.
from test_volume import tree
from test_volume_fsck import flip

pytestmark = [
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="this machine has no /dev/fuse"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may open /dev/fuse here"),
]
LINGER_S = 30  # So long a mount stays that nobody uses.


@pytest.fixture
def mounts(runnel):
    made = Mounts(runnel, runnel.home)
    yield made
    made.end()


def put(runnel, tmp_path, **files):
    """Publishes files as the next version of `data`, and gives its id."""
    source = tree(tmp_path / f"source-{len(list(tmp_path.iterdir()))}",
                  {name: text.encode() for name, text in files.items()})
    if not (runnel.home / "volumes/data").exists():
        runnel.run("volume", "create", "data")
    return runnel.run("volume", "put", source, "data").strip()


def place_of(runnel, version):
    store = hashlib.sha256(f"file://{runnel.home}/volumes".encode()).hexdigest()[:8]
    return runnel.home / "mounts" / f"data@{version}-{store}"


def unused(runnel, version):
    uses = place_of(runnel, version) / "uses"
    return not uses.exists() or not list(uses.iterdir())


def holders(place):
    """The pids of those that hold the mount of a place, by its lock: another mount has another."""
    try:
        inode = (place / ".holder").stat().st_ino
    except OSError:
        return set()
    lines = [line.split() for line in pathlib.Path("/proc/locks").read_text().splitlines()]
    return {words[4] for words in lines if words[1] == "FLOCK" and words[5].endswith(f":{inode}")}


def output(runnel, job):
    return sorted(runnel.run("logs", job).splitlines())


def test_a_task_reads_a_version_that_is_kept_in_the_jobs_record(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    gate = tmp_path / "gate"
    text = "volumes: {train-set: data}\nrun: 'cat $RUNNEL_VOLUME_TRAIN_SET/text; test -e %s'\n" % gate
    out = runnel.run("run", runnel.file(text), code=1)
    assert out == "one\n", runnel.err
    assert f"volume train-set is data@{version}" in runnel.err
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    spec = json.loads(runnel.run("show", job, "--spec", "-o", "json"))
    assert spec["steps"][0]["volumes"] == [
        {"name": "train-set", "store": f"file://{runnel.home}/volumes", "version": version, "volume": "data"}]
    newer = put(runnel, tmp_path, text="two\n")
    assert newer != version
    gate.touch()
    runnel.run("retry", job)
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert output(runnel, job) == ["one", "one"], "what it reads is what it read"
    assert runnel.run("run", runnel.file(text)) == "two\n"


def test_the_tasks_of_a_sweep_share_a_mount_which_goes_when_nobody_needs_it(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    place = place_of(runnel, version)
    job = runnel.up("volumes: {a: data, b: 'data@latest'}\n"
                    "steps:\n"
                    "  first:\n"
                    "    foreach: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n"
                    "    run: 'cmp $RUNNEL_VOLUME_A/text $RUNNEL_VOLUME_B/text; sleep 0.2'\n"
                    "  second: {depends_on: first, run: 'cat $RUNNEL_VOLUME_B/text'}\n")
    seen = set()
    while runnel.job(job)["status"] not in ("SUCCEEDED", "FAILED"):
        seen |= holders(place)
    assert runnel.job(job)["status"] == "SUCCEEDED" and len(seen) == 1, seen
    mounts.server()
    runnel.until(lambda: unused(runnel, version))
    assert is_mounted(place / "tree"), "the next step would find it warm"
    runnel.until(lambda: not place.exists(), timeout=LINGER_S + 30)
    runnel.until(lambda: not mounts.processes("mount"))
    assert not is_mounted(place / "tree")


def test_a_mount_outlives_its_daemon_and_is_let_go_by_the_next(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    gate = tmp_path / "gate"
    job = runnel.up("volumes: {data: data}\n"
                    "run: 'while [ ! -e %s ]; do cat $RUNNEL_VOLUME_DATA/text > /dev/null; sleep 0.01; done'\n" % gate)
    runnel.until(lambda: runnel.job(job)["status"] == "RUNNING" and is_mounted(place_of(runnel, version) / "tree"))
    kill(runnel.info()["daemon_pid"])
    assert not unused(runnel, version)
    gate.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("explain", job)
    runnel.until(lambda: unused(runnel, version))


def test_an_attempt_whose_mount_died_is_tried_again_over_another(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n", other="two\n")
    gate = tmp_path / "gate"
    job = runnel.up("volumes: {data: data}\nretry: {max: 2}\n"
                    "run: 'cat $RUNNEL_VOLUME_DATA/text; while [ ! -e %s ]; do sleep 0.05; done; cat $RUNNEL_VOLUME_DATA/other'\n" % gate)
    runnel.until(lambda: output(runnel, job))
    for verb in ("mount", "serve"):
        for pid in mounts.processes(verb):
            kill(pid)
    gate.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("explain", job)
    assert len(runnel.json("show", job, "--task", "0")["attempts"]) == 2
    assert [line for line in output(runnel, job) if "one" in line or "two" in line] == ["one", "one", "two"]
    runnel.until(lambda: unused(runnel, version))


@pytest.mark.parametrize("holder", ["ends its mount", "stands still"])
def test_damage_is_told_with_the_attempt_and_the_next_one_reads_what_was_mended(runnel, mounts, tmp_path, holder):
    content = os.urandom(3000)
    source = tree(tmp_path / "source", {"bytes": content})
    runnel.run("volume", "create", "data")
    version = runnel.run("volume", "put", source, "data").strip()
    [pack] = (runnel.home / "volumes/data/p").iterdir()
    flip(pack, pack.read_bytes().index(content) + 100)
    gate = tmp_path / "gate"
    job = runnel.up("volumes: {data: data}\n"
                    "run: 'cmp $RUNNEL_VOLUME_DATA/bytes %s/bytes && exit; while [ ! -e %s ]; do sleep 0.05; done; exit 7'\n"
                    % (source, gate))
    place = place_of(runnel, version)
    runnel.until(lambda: (place / "damaged").exists())
    [pid] = holders(place)
    if holder == "stands still":
        os.kill(int(pid), signal.SIGSTOP)
    gate.touch()
    assert runnel.wait(job)["status"] == "FAILED"
    for words in (["explain", job], ["show", job, "--task", "0"]):
        said = runnel.run(*words)
        assert f"volume data@{version} could not be read whole: " in said, said
        assert "runnel volume fsck data" in said
    if holder == "ends its mount":
        runnel.until(lambda: not place.exists(), timeout=LINGER_S / 2)
    runnel.run("volume", "fsck", "--repair", "data", code=1)
    assert runnel.run("volume", "put", source, "data").strip() == version
    runnel.run("retry", job)
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("explain", job)
    kill(int(pid), signal.SIGCONT)


def test_a_dead_mount_goes_with_the_job_that_used_it(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    gate = tmp_path / "gate"
    job = runnel.up("volumes: {data: data}\nrun: 'cat $RUNNEL_VOLUME_DATA/text; while [ ! -e %s ]; do sleep 0.05; done'\n" % gate)
    runnel.until(lambda: output(runnel, job))
    for verb in ("mount", "serve"):
        for pid in mounts.processes(verb):
            kill(pid)
    gate.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    runnel.until(lambda: not place_of(runnel, version).exists())
    (runnel.home / "mounts.sock").unlink()  # A killed server's, which the next one replaces.


def test_a_mount_that_was_killed_after_its_last_use_goes_too(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    waits = runnel.up("run: sleep 600")  # Its daemon stays.
    assert runnel.run("run", runnel.file("volumes: {data: data}\nrun: 'cat $RUNNEL_VOLUME_DATA/text'\n")) == "one\n"
    runnel.until(lambda: unused(runnel, version))
    for verb in ("mount", "serve"):
        for pid in mounts.processes(verb):
            kill(pid)
    runnel.until(lambda: not place_of(runnel, version).exists(), timeout=40)
    runnel.run("cancel", waits)
    (runnel.home / "mounts.sock").unlink()


def test_nobody_reads_or_writes_the_folder_below_a_mount_that_was_given_up(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    tree_there = place_of(runnel, version) / "tree"
    gate = tmp_path / "gate"
    job = runnel.up("volumes: {data: data}\nrun: 'cat $RUNNEL_VOLUME_DATA/text; while [ ! -e %s ]; do sleep 0.05; done; "
                    "ls $RUNNEL_VOLUME_DATA && echo silence; touch $RUNNEL_VOLUME_DATA/note || echo refused'\n" % gate)
    runnel.until(lambda: output(runnel, job))
    killed = set()
    end = time.monotonic() + 120
    while mounts.processes("mount") and time.monotonic() < end:  # Ten in a minute are served again.
        for pid in mounts.processes("serve"):
            kill(pid)
            killed.add(pid)
        time.sleep(0.05)
    assert len(killed) >= (10 if ASKS_AGAIN else 1)
    gate.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert [line for line in output(runnel, job) if line in ("one", "silence", "refused")] == ["one", "refused"]
    assert runnel.run("run", runnel.file("volumes: {data: data}\nrun: 'ls $RUNNEL_VOLUME_DATA'\n")) == "text\n"
    runnel.run("volume", "umount", tree_there)
    runnel.until(lambda: not mounts.processes("mount"))


def test_what_a_task_writes_where_a_mount_was_is_never_read_as_the_version(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    gate = tmp_path / "gate"
    job = runnel.up("volumes: {data: data}\nrun: 'cat $RUNNEL_VOLUME_DATA/text; while [ ! -e %s ]; do sleep 0.05; done; "
                    "echo precious > $RUNNEL_VOLUME_DATA/note'\n" % gate)
    runnel.until(lambda: output(runnel, job))
    runnel.run("volume", "umount", "--lazy", place_of(runnel, version) / "tree")
    gate.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert runnel.run("run", runnel.file("volumes: {data: data}\nrun: 'ls $RUNNEL_VOLUME_DATA'\n")) == "text\n"
    assert [path.read_text() for path in (runnel.home / "mounts/strays").rglob("note")] == ["precious\n"]


def test_a_mount_whose_holder_was_killed_goes_after_its_last_use(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    gate = tmp_path / "gate"
    job = runnel.up("volumes: {data: data}\nrun: 'cat $RUNNEL_VOLUME_DATA/text; while [ ! -e %s ]; do sleep 0.05; done'\n" % gate)
    runnel.until(lambda: output(runnel, job))
    for pid in mounts.processes("mount"):
        kill(pid)
    gate.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    runnel.until(lambda: unused(runnel, version))


def test_the_whole_home_may_be_killed_under_a_job_with_a_volume(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    gate = tmp_path / "gate"
    job = runnel.up("volumes: {data: data}\nrun: 'cat $RUNNEL_VOLUME_DATA/text; while [ ! -e %s ]; do sleep 0.05; done'\n" % gate)
    runnel.until(lambda: output(runnel, job))
    runnel.kill()
    gate.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("explain", job)
    assert set(output(runnel, job)) == {"one"}
    runnel.until(lambda: unused(runnel, version))


def test_what_cannot_be_read_is_refused_in_the_shell_that_asks(runnel, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    runnel.run("run", runnel.file("volumes: {data: nothing}\nrun: 'true'\n"), code=1)
    assert "steps.job.volumes.data: " in runnel.err and "nothing" in runnel.err, runnel.err
    runnel.run("run", runnel.file("volumes: {data: 'data@v7'}\nrun: 'true'\n"), code=1)
    assert "volume data has no version 'v7'" in runnel.err
    runnel.run("run", runnel.file("volumes: {out: {volume: nothing, mode: rw}}\nrun: 'true'\n"), code=1)
    assert "steps.job.volumes.out: " in runnel.err and "nothing" in runnel.err, runnel.err
    runnel.run("validate", runnel.file("volumes: {data: nothing}\nrun: 'true'\n"))
    assert runnel.json("ps", "-a")["jobs"] == [] and version


def test_a_version_that_is_gone_when_its_task_begins_fails_it_by_name(runnel, mounts, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    gate = tmp_path / "gate"
    job = runnel.up("steps:\n  wait: {run: 'while [ ! -e %s ]; do sleep 0.05; done'}\n"
                    "  read: {depends_on: wait, volumes: {data: data}, run: 'true'}\n" % gate)
    put(runnel, tmp_path, text="two\n")
    forget(runnel, version)
    runnel.run("volume", "gc", "data")
    gate.touch()
    assert runnel.wait(job)["status"] == "FAILED"
    assert f"data@{version}" in runnel.run("explain", job)
    runnel.until(lambda: not place_of(runnel, version).exists())


def test_the_keys_of_a_bucket_reach_its_mount_and_no_task(runnel, mounts, server, tmp_path):  # noqa: F811
    source = tree(tmp_path / "source", {"text": b"from afar\n"})
    keys = {**runnel.env, **server.env}
    runnel.run("volume", "create", "far", "--store", "s3://bkt/volumes", env=keys)
    runnel.run("volume", "put", source, "far", env=keys)
    text = "volumes: {data: far}\nrun: 'cat $RUNNEL_VOLUME_DATA/text; env | grep ^AWS_ || echo no keys'\n"
    assert runnel.run("run", runnel.file(text), env=keys) == "from afar\nno keys\n", runnel.err
    runnel.until(lambda: not list((runnel.home / "secrets").iterdir()))  # They go with the job.
    for verb in ("mount", "serve"):
        processes = mounts.processes(verb)
        assert processes, "they stay for the next task, and show no key to those of others"
        for process in processes:
            shown = pathlib.Path(f"/proc/{process}/environ").read_bytes()
            assert server.env["AWS_SECRET_ACCESS_KEY"].encode() not in shown and b"PATH=" in shown
    for process in mounts.processes("serve"):
        os.kill(process, signal.SIGTERM)


def test_what_keeps_a_task_from_beginning_is_named(runnel, server, mounts, tmp_path):  # noqa: F811
    """A store that does not answer: by explain and ps, before anything has been given up."""
    runnel.env.update(server.env)
    gate = tmp_path / "gate"
    runnel.run("volume", "create", "far", "--store", "s3://bkt/volumes")
    version = runnel.run("volume", "put", tree(tmp_path / "source", {"text": b"from afar\n"}), "far").strip()
    job = runnel.up("steps:\n"
                    "  first: {run: 'while [ ! -e %s ]; do sleep 0.05; done'}\n"
                    "  second: {depends_on: first, volumes: {data: far}, run: 'cat $RUNNEL_VOLUME_DATA/text'}\n" % gate)
    server.process.send_signal(signal.SIGSTOP)
    try:
        gate.touch()
        runnel.until(lambda: "Preparing" in runnel.run("explain", job), timeout=10)
        told = runnel.run("explain", job)
        assert "second: Preparing: task 0 waits since" in told and "nothing waits" not in told
        assert f"volume far@{version} of s3://bkt/volumes" in told
        runnel.run("ps")
        assert f"job {job}, step 'second': task 0 waits since" in runnel.err, runnel.err
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("explain", job)
    assert "waits since" not in runnel.run("explain", job)
    assert output(runnel, job) == ["second/0: from afar"]


def test_a_daemon_ends_although_an_attempt_waits_for_a_silent_store(runnel, server, mounts, tmp_path):  # noqa: F811
    runnel.env.update(server.env)
    gate = tmp_path / "gate"
    runnel.run("volume", "create", "far", "--store", "s3://bkt/volumes")
    runnel.run("volume", "put", tree(tmp_path / "source", {"text": b"from afar\n"}), "far")
    job = runnel.up("steps:\n"
                    "  first: {run: 'while [ ! -e %s ]; do sleep 0.05; done'}\n"
                    "  second: {depends_on: first, volumes: {data: far}, run: 'cat $RUNNEL_VOLUME_DATA/text'}\n" % gate)
    daemon = runnel.info()["daemon_pid"]
    server.process.send_signal(signal.SIGSTOP)
    try:
        gate.touch()
        runnel.until(lambda: mounts.processes("mount"))
        runnel.run("cancel", job)
        runnel.until(lambda: not pathlib.Path(f"/proc/{daemon}").exists(), timeout=10)
        assert "without an orderly end" not in runnel.daemon_log()
    finally:
        server.process.send_signal(signal.SIGCONT)
    runnel.until(lambda: runnel.run("ps", "-a") and not list((runnel.home / "mounts").glob("far@*")), timeout=60)
    runnel.until(lambda: not mounts.processes("mount"))  # The next life of the daemon takes back what was made ready.


def test_without_fuse_a_version_is_copied_and_goes_with_its_last_use(runnel, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    gate = tmp_path / "gate"
    file = runnel.file("volumes: {data: data}\nrun: 'cat $RUNNEL_VOLUME_DATA/text; while [ ! -e %s ]; do sleep 0.05; done'\n" % gate)
    with socket.socket(socket.AF_UNIX) as closed:  # What cannot be opened lies over the device.
        closed.bind(str(tmp_path / "closed"))
    hidden = ["unshare", "--mount", "sh", "-ec", f'mount --bind {tmp_path}/closed /dev/fuse; exec "$@"', "sh"]
    up = [*hidden, BINARY, "up", "-f", file, "-o", "json"]
    job = json.loads(subprocess.check_output(up, env=runnel.env, cwd=runnel.work))["id"]
    runnel.until(lambda: output(runnel, job) == ["one"])
    assert (place_of(runnel, version) / "tree/text").read_text() == "one\n"
    assert any("cannot mount" in notice for notice in runnel.info()["notices"])
    gate.touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    runnel.until(lambda: not place_of(runnel, version).exists())


def test_a_plan_tells_nothing_of_stores(runnel):
    """Looking at a file needs neither its volumes nor their keys."""
    file = runnel.file("volumes: {data: {volume: far, store: 's3://nobody/here'}}\nrun: 'true'\n")
    assert "STEP" in runnel.run("plan", "-f", file)
    assert not pathlib.Path(runnel.home, "mounts").exists()


def test_gc_keeps_what_a_job_waits_to_read(runnel, tmp_path):
    version = put(runnel, tmp_path, text="one\n")
    resources = f"resources: {{cpus: {os.cpu_count()}}}\n"
    first = runnel.up(resources + "run: sleep 1000")
    job = runnel.up("volumes: {a: data}\n" + resources + "run: cat $RUNNEL_VOLUME_A/text")
    newest = put(runnel, tmp_path, text="two\n")
    (tmp_path / "link").symlink_to(runnel.home / "volumes")
    by_link = ("--store", f"file://{tmp_path}/link")
    for words, begin in ((("--dry-run",), "would keep"), (by_link, "kept"), ((), "kept")):
        said = runnel.run("volume", "gc", "data", "--keep", "0s", *words)
        assert said.startswith(f"{begin} version {version}, ") and f"held by job {job}, which has not ended" in said, said
    runnel.run("cancel", job, first)
    runnel.wait(job)
    runnel.wait(first)
    assert [each["version"] for each in runnel.json("volume", "gc", "data", "--keep", "0s")["dropped"]] == [version]
    assert newest != version


def test_gc_drops_nothing_where_nobody_knows_which_jobs_there_are(runnel, tmp_path):
    put(runnel, tmp_path, text="one\n")
    runnel.ended("run: 'true'")
    put(runnel, tmp_path, text="two\n")
    runnel.end_idle_daemon()
    runnel.rest()
    (runnel.home / "log").rename(tmp_path / "log")
    runnel.run("volume", "gc", "data", "--keep", "0s", code=1)
    assert "log" in runnel.err and len(runnel.json("volume", "versions", "data")["versions"]) == 2
    (tmp_path / "log").rename(runnel.home / "log")
