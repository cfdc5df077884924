"""What an earlier build began goes on under this one. RUNNEL_EARLIER is that build's command: see tools/soak.sh."""

import os
import pathlib

import pytest
from conftest import BINARY

EARLIER = os.environ.get("RUNNEL_EARLIER")
TASKS = 20


@pytest.mark.skipif(not EARLIER, reason="RUNNEL_EARLIER is not set")
def test_what_an_earlier_build_began_ends_with_its_exit_codes(runnel):
    """Some end while no daemon is there, some under the daemon of this build; the runner stays who it is."""
    runnel.binary = pathlib.Path(EARLIER).absolute()
    job = runnel.up(f"""
params: {{n: {{range: [1, {TASKS}]}}}}
parallel: {TASKS}
resources: {{cpus: 0.01}}
run: |
  touch $RUNNEL_JOB_DIR/began{{{{n}}}}
  while [ ! -e $RUNNEL_JOB_DIR/go{{{{n}}}} ]; do sleep 0.05; done
  exit {{{{n}}}}
""")
    shared = runnel.home / "jobs" / job / "shared"
    runnel.until(lambda: len(list(shared.glob("began*"))) == TASKS, timeout=60)
    before = runnel.info()
    os.kill(before["daemon_pid"], 9)
    for n in range(1, TASKS // 2 + 1):
        (shared / f"go{n}").touch()
    runnel.binary = BINARY
    after = runnel.info()
    assert after["runner_pid"] == before["runner_pid"]
    assert after["daemon_pid"] != before["daemon_pid"]
    for n in range(TASKS // 2 + 1, TASKS + 1):
        (shared / f"go{n}").touch()
    assert runnel.wait(job)["status"] == "FAILED"
    tasks = runnel.json("show", job, "--tasks")["tasks"]
    assert sorted(task["exit_code"] for task in tasks) == list(range(1, TASKS + 1))
    assert all(task["attempts"] == 1 for task in tasks), "none began again"
