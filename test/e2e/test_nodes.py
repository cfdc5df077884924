"""The nodes of nodes.yaml."""

import os
import pathlib
import signal
import socket
import time

import pytest

from conftest import kill

TWO = "nodes: [{name: a, cpus: 1, memory: 1GB}, {name: b, cpus: 1, memory: 1GB}]\n"
ONE = "nodes: [{name: a, cpus: 1, memory: 1GB}]\n"


def lines_of(runnel, name):
    # Folders come and go meanwhile: os.walk passes over what has gone.
    paths = [pathlib.Path(folder, name) for folder, _, names in os.walk(runnel.home) if name in names]
    return [line for path in paths for line in path.read_text().splitlines()]


WAITS = """
foreach: [1, 2]
resources: {cpus: 1}
run: |
  echo {{item}}-$RUNNEL_ATTEMPT >> $RUNNEL_JOB_DIR/started
  while ! test -e $RUNNEL_JOB_DIR/go{{item}}; do sleep 0.1; done
"""


@pytest.mark.parametrize("how", ["edited", "killed"])
def test_what_runs_on_a_removed_node_ends_there(runnel, how):
    """By an edit of the file, whether the daemon lives or is killed just then: nothing is begun again."""
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(TWO)
    job = runnel.up(WAITS)
    runnel.until(lambda: sorted(lines_of(runnel, "started")) == ["1-1", "2-1"])
    (runnel.home / "nodes.yaml").write_text(ONE.replace("name: a", "name: c"))
    if how == "killed":
        kill(runnel.info()["daemon_pid"])
    runnel.until(lambda: draining(runnel) == ["a", "b"] and nodes_of(runnel)["c"] == 1000, timeout=10)
    assert "node 'a' is not in nodes.yaml any more: what runs there goes on" in runnel.run("home")
    assert runnel.job(job)["counts"]["RUNNING"] == 2
    assert runnel.run("run", runnel.file("resources: {cpus: 1}\nrun: echo on the new one\n")) == "on the new one\n"
    folder = next(runnel.home.rglob("started")).parent
    (folder / "go1").touch()
    runnel.until(lambda: sorted(up_nodes(runnel)) in (["a", "c"], ["b", "c"]), timeout=10)
    (folder / "go2").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    runnel.until(lambda: up_nodes(runnel) == ["c"] or not runnel.pids(), timeout=10)
    assert sorted(lines_of(runnel, "started")) == ["1-1", "2-1"], "neither was ended"


GPU = "nodes: [{name: a, cpus: 4, memory: 4GB, accelerators: {H100: 2}}]\n"


@pytest.mark.parametrize("edit", [
    GPU.replace("name: a", "name: b"),
    GPU.replace("H100", "H100-80GB"),
    "nodes: [{name: a, cpus: 1, memory: 1GB}, {name: b, cpus: 4, memory: 4GB, accelerators: {H100: 2}}]\n",
], ids=["another name", "another kind", "moved"])
def test_no_edit_grants_a_device_that_is_in_use(runnel, edit):
    """Each node counts the devices of the machine from 0."""
    runnel.home.mkdir()
    file = runnel.home / "nodes.yaml"
    file.write_text(GPU)
    job = runnel.up(WAITS.replace("[1, 2]", "[1]").replace("{cpus: 1}", "{cpus: 1, accelerators: 'H100:2'}"))
    runnel.until(lambda: lines_of(runnel, "started") == ["1-1"])
    file.write_text(edit.replace("]\n", ", {name: more, cpus: 1, memory: 1GB}]\n"))
    runnel.until(lambda: "grants no devices yet" in runnel.run("home"), timeout=10)
    kill(runnel.info()["daemon_pid"])
    kind = "H100-80GB" if "80GB" in edit else "H100"
    later = runnel.up("resources: {cpus: 1, accelerators: '%s:1'}\nrun: echo $CUDA_VISIBLE_DEVICES\n" % kind)
    assert "until tasks that began before nodes.yaml was changed" in runnel.run("explain", later)
    assert "more" in up_nodes(runnel), "what grants no device that is in use is there at once"
    next(runnel.home.rglob("started")).with_name("go1").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED" and runnel.wait(later)["status"] == "SUCCEEDED"
    assert runnel.run("logs", later) == "0\n"


def test_a_node_that_was_preempted_when_it_was_removed_is_gone(runnel):
    """No later mistake in the file brings it back."""
    runnel.home.mkdir()
    file = runnel.home / "nodes.yaml"
    file.write_text(TWO)
    job = runnel.up(WAITS.replace("[1, 2]", "[1]"))
    runnel.until(lambda: lines_of(runnel, "started") == ["1-1"])
    node = next(node["id"] for node in runnel.json("nodes")["nodes"] if node["lanes"])
    other = "b" if node == "a" else "a"
    runnel.run("preempt", other, "--notice", "0s", "--away", "1h")
    runnel.until(lambda: up_nodes(runnel) == [node])
    file.write_text(ONE.replace("name: a", f"name: {node}"))
    runnel.until(lambda: other not in runnel.run("nodes"), timeout=10)
    file.write_text("nodes: [\n")
    kill(runnel.info()["daemon_pid"])
    assert up_nodes(runnel) == [node]
    next(runnel.home.rglob("started")).with_name("go1").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def test_a_node_that_is_drained_can_be_taken_away_at_once(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(ONE)
    job = runnel.up(WAITS.replace("[1, 2]", "[1]"))
    runnel.until(lambda: lines_of(runnel, "started") == ["1-1"])
    (runnel.home / "nodes.yaml").write_text(ONE.replace("name: a", "name: b"))
    runnel.until(lambda: draining(runnel) == ["a"], timeout=10)
    runnel.run("preempt", "a", "--notice", "1s", "--away", "1s")
    runnel.until(lambda: lines_of(runnel, "started") == ["1-1", "1-2"])
    next(runnel.home.rglob("started")).with_name("go1").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def test_a_node_that_comes_back_smaller_keeps_what_it_runs(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text("nodes: [{name: a, cpus: 3, memory: 3GB}]\n")
    job = runnel.up("""
foreach: [1, 2, 3, 4]
resources: {cpus: 1}
run: |
  echo {{item}} >> $RUNNEL_JOB_DIR/started
  while ! test -e $RUNNEL_JOB_DIR/go{{item}}; do sleep 0.1; done
""")
    runnel.until(lambda: sorted(lines_of(runnel, "started")) == ["1", "2", "3"])
    (runnel.home / "nodes.yaml").write_text(ONE)
    kill(runnel.info()["daemon_pid"])
    assert runnel.job(job)["counts"]["RUNNING"] == 3
    assert "needs a node with 1 cpu" in runnel.run("explain", job)
    folder = next(runnel.home.rglob("started")).parent
    for item in (1, 2):
        (folder / f"go{item}").touch()
    runnel.until(lambda: runnel.job(job)["counts"].get("SUCCEEDED") == 2)
    assert lines_of(runnel, "started")[3:] == [], "one still runs, on the one processor that is left"
    (folder / "go4").touch()
    (folder / "go3").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert sorted(lines_of(runnel, "started")) == ["1", "2", "3", "4"]


def nodes_of(runnel):
    return {node["id"]: node["capacity"]["milli_cpus"] for node in runnel.json("nodes")["nodes"]}


def draining(runnel):
    return [node["id"] for node in runnel.json("nodes")["nodes"] if node.get("draining")]


def up_nodes(runnel):
    return [node["id"] for node in runnel.json("nodes")["nodes"] if node["up"]]


def test_a_changed_nodes_file_is_in_force_while_work_goes_on(runnel):
    """A node is added, one grows, one goes; who is attached notices nothing, and nothing that stays begins again."""
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(ONE)
    attached = runnel.start("run", "--name", "long", "--", "sh", "-c", "echo $RUNNEL_ATTEMPT; while ! test -e go; do sleep 0.1; done")
    runnel.until(lambda: any(job["counts"].get("RUNNING") for job in runnel.json("ps")["jobs"]))
    daemon = runnel.info()["daemon_pid"]
    waits = runnel.up("resources: {cpus: 1}\nrun: echo there\n")
    (runnel.home / "nodes.yaml").write_text("nodes: [{name: a, cpus: 2, memory: 1GB}, {name: b, cpus: 3, memory: 1GB}]\n")
    runnel.until(lambda: nodes_of(runnel) == {"a": 2000, "b": 3000}, timeout=10)
    assert runnel.wait(waits)["status"] == "SUCCEEDED"
    assert runnel.info()["daemon_pid"] == daemon
    (runnel.home / "nodes.yaml").write_text(ONE)
    runnel.until(lambda: nodes_of(runnel).get("a") == 1000, timeout=10)
    (runnel.work / "go").touch()
    out, err = attached.communicate(timeout=60)
    assert attached.returncode == 0 and out == "1\n", err


def test_a_wrong_nodes_file_is_told_and_the_nodes_of_before_stay(runnel):
    runnel.home.mkdir()
    file = runnel.home / "nodes.yaml"
    file.write_text(TWO)
    runnel.run("run", "--", "true")
    job = runnel.up("run: sleep 1000\nresources: {cpus: 1}\n")
    file.write_text("nodes:\n  - {name: a, cpu: 1, memory: 1GB}\n")

    def told(*words):
        out = runnel.run(*words)
        return f"{file}:2:" in runnel.err and "\n  - {name: a, cpus: 8, memory: 32GB}\n" in runnel.err and out

    runnel.until(lambda: told("nodes"), timeout=10)
    assert told("home") and nodes_of(runnel) == {"a": 1000, "b": 1000}
    assert "cannot be used, so the nodes that the home had before, if any, stay in force" in runnel.json("nodes")["nodes_problem"]["message"]
    file.write_text(TWO)
    runnel.until(lambda: "nodes_problem" not in runnel.json("nodes"), timeout=10)
    runnel.run("cancel", job)


def test_a_daemon_starts_with_the_nodes_of_before_when_their_file_is_wrong(runnel):
    """What runs goes on, history is read, files are looked at; only new work waits for the cure."""
    runnel.home.mkdir()
    file = runnel.home / "nodes.yaml"
    file.write_text(TWO)
    job = runnel.up("resources: {cpus: 1}\nrun: |\n  echo $RUNNEL_ATTEMPT\n  while ! test -e go; do sleep 0.1; done\n")
    runnel.until(lambda: runnel.run("logs", job) == "1\n")
    kill(runnel.info()["daemon_pid"])
    file.write_text("nodes: [")
    assert nodes_of(runnel) == {"a": 1000, "b": 1000}
    assert runnel.job(job)["counts"]["RUNNING"] == 1
    runnel.run("home")
    assert f"{file}:1:" in runnel.err
    (runnel.work / "job.yaml").write_text("run: echo there\n")
    runnel.run("validate", "job.yaml")
    assert "warning: what the nodes have room for was not checked" in runnel.err
    runnel.run("run", "job.yaml", code=2)
    assert f"{file}:1:" in runnel.err
    (runnel.work / "go").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED" and runnel.run("logs", job) == "1\n"
    file.write_text(ONE)
    runnel.until(lambda: "nodes_problem" not in runnel.json("nodes"), timeout=10)
    assert runnel.run("run", "job.yaml") == "there\n"


def test_a_node_that_was_away_is_one_of_those_of_before(runnel):
    runnel.home.mkdir()
    file = runnel.home / "nodes.yaml"
    file.write_text(TWO)
    runnel.run("run", "--", "true")
    runnel.run("preempt", "b", "--notice", "1s", "--away", "60s")
    runnel.until(lambda: not all(node["up"] for node in runnel.json("nodes")["nodes"]))
    file.write_text("nodes: [")
    kill(runnel.info()["daemon_pid"])
    runnel.until(lambda: all(node["up"] for node in runnel.json("nodes")["nodes"]), timeout=10)


def test_who_ends_the_daemon_just_after_an_edit_ends_it(runnel):
    """A request is half sent, so that closing takes long enough for the edit to be seen meanwhile."""
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(TWO)
    job = runnel.up("run: sleep 1000\nresources: {cpus: 1}\n")
    runnel.until(lambda: runnel.job(job)["counts"].get("RUNNING") == 1)
    info = runnel.info()
    daemon = info["daemon_pid"]
    with socket.socket(socket.AF_UNIX) as held:
        held.connect(info["socket"])
        held.sendall(b"GET /api/v1/home HTTP/1.1\r\n")
        (runnel.home / "nodes.yaml").write_text(ONE)
        time.sleep(0.2)
        os.kill(daemon, signal.SIGTERM)
        runnel.until(lambda: not pathlib.Path(f"/proc/{daemon}").exists(), timeout=15)
    assert "without an orderly end" not in runnel.daemon_log()
    assert nodes_of(runnel).get("a") == 1000
    runnel.run("cancel", job)
