"""The nodes of nodes.yaml."""

import os
import pathlib
import signal

TWO = "nodes: [{name: a, cpus: 1, memory: 1GB}, {name: b, cpus: 1, memory: 1GB}]\n"
ONE = "nodes: [{name: a, cpus: 1, memory: 1GB}]\n"


def lines_of(runnel, name):
    # Folders come and go meanwhile: os.walk passes over what has gone.
    paths = [pathlib.Path(folder, name) for folder, _, names in os.walk(runnel.home) if name in names]
    return [line for path in paths for line in path.read_text().splitlines()]


def test_the_work_of_a_removed_node_goes_on_elsewhere(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(TWO)
    job = runnel.up("""
foreach: [1, 2]
resources: {cpus: 1}
run: |
  echo {{item}} >> $RUNNEL_JOB_DIR/started
  while ! test -e $RUNNEL_JOB_DIR/go; do sleep 0.1; done
""")
    runnel.until(lambda: sorted(lines_of(runnel, "started")) == ["1", "2"])
    (runnel.home / "nodes.yaml").write_text(ONE)
    os.kill(runnel.info()["daemon_pid"], signal.SIGKILL)
    runnel.until(lambda: runnel.job(job)["counts"].get("RUNNING", 0) == 1)
    next(runnel.home.rglob("started")).with_name("go").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert len(lines_of(runnel, "started")) == 3, "one of the two began again, on the node that is left"
