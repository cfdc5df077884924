"""Devices are granted: no two live tasks have one, whoever is killed.

RUNNEL_CRASHES sets the number of kills (4 here at least).
"""

import os
import random
import time

from conftest import kill

CRASHES = max(4, int(os.environ.get("RUNNEL_CRASHES", "4")))

EIGHT = "nodes: [{name: gpu, cpus: 64, memory: 64GB, accelerators: {H100: 8}}]\n"

# Each task holds a lock for each device that it is shown, for as long as it lives. A device that is
# held already, or more than one, is a line in `broken`.
JOB = """
resources: {cpus: 1, accelerators: "H100:1"}
params: {n: {range: [0, 63]}}
run: |
  exec python3 -c '
  import fcntl, os, sys, time
  folder, ids = os.environ["RUNNEL_JOB_DIR"], os.environ["CUDA_VISIBLE_DEVICES"].split(",")
  held = [open(os.path.join(folder, "device." + each), "w") for each in ids]
  def note(name, text):
      with open(os.path.join(folder, name), "a") as file:
          file.write(text + chr(10))
  try:
      for lock in held:
          fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
  except OSError:
      note("broken", "{{n}}: held: " + str(ids))
  if len(ids) != 1 or ids[0] not in "01234567":
      note("broken", "{{n}}: shown " + str(ids))
  note("begun", "{{n}} " + ids[0])
  time.sleep(0.15)
  note("done", "{{n}}")
  '
"""


def lines(runnel, job, name):
    path = runnel.home / "jobs" / job / "shared" / name
    return path.read_text().splitlines() if path.exists() else []


def test_no_two_live_tasks_have_one_device(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(EIGHT)
    dice = random.Random(29)
    victims = [["daemon_pid"], ["runner_pid"], ["daemon_pid", "runner_pid"]]
    left, shown = CRASHES, set()
    while left > 0:
        job = runnel.up(JOB)
        while left > 0:
            time.sleep(dice.uniform(0.1, 0.5))
            if runnel.job(job)["status"] in ("SUCCEEDED", "FAILED"):
                break
            info = runnel.info()
            for victim in victims[left % len(victims)]:
                kill(info[victim])
            left -= 1
        assert runnel.wait(job, timeout=180)["status"] == "SUCCEEDED"
        assert lines(runnel, job, "broken") == []
        assert sorted(set(map(int, lines(runnel, job, "done")))) == list(range(64)), "no task lost"
        shown |= {line.split()[1] for line in lines(runnel, job, "begun")}
    assert shown == set("01234567"), "all eight were used"


def check_shown(runnel, job):
    nodes = runnel.run("nodes", "-o", "wide")
    assert "DEVICES FREE" in nodes and "  4/8 H100" in nodes, nodes
    assert f"H100:0,1  {job}/some/0\n" in nodes and f"H100:2,3  {job}/some/1\n" in nodes, nodes
    assert "HELD BY" not in runnel.run("nodes")
    assert runnel.run("ps", job).splitlines()[1].endswith("  H100:0,1")
    assert runnel.run("show", job, "--tasks").splitlines()[2].endswith("  H100:2,3")
    one = runnel.json("show", job, "--step", "some", "--task", "1")
    assert one["task"]["devices"] == one["attempts"][0]["devices"] == {"gpu": {"H100": [2, 3]}}
    waiting = runnel.up('{resources: {cpus: 1, accelerators: "H100:5"}, run: "true"}')
    told = runnel.run("explain", waiting)
    assert f"lacks 1 H100 (4 of 8 H100 free): {job} holds 4 H100" in told, told
    runnel.run("cancel", waiting)


def test_what_was_granted_is_seen(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(EIGHT)
    job = runnel.up("""
steps:
  some:
    foreach: [1, 2]
    resources: {cpus: 1, accelerators: "H100:2"}
    run: |
      echo $RUNNEL_DEVICES $NVIDIA_VISIBLE_DEVICES $RUNNEL_GPUS_PER_NODE >> $RUNNEL_JOB_DIR/some
      while ! test -e $RUNNEL_JOB_DIR/go; do sleep 0.1; done
  own:
    resources: {cpus: 1, accelerators: "H100:1"}
    envs: {CUDA_VISIBLE_DEVICES: "7"}
    run: echo $RUNNEL_DEVICES $CUDA_VISIBLE_DEVICES >> $RUNNEL_JOB_DIR/own
    depends_on: some
  none:
    resources: {cpus: 1}
    run: echo "<$CUDA_VISIBLE_DEVICES>" "${CUDA_VISIBLE_DEVICES-unset}" $NVIDIA_VISIBLE_DEVICES "${RUNNEL_DEVICES-no}" >> $RUNNEL_JOB_DIR/none
    depends_on: some
""")
    runnel.until(lambda: len(lines(runnel, job, "some")) == 2)
    assert sorted(lines(runnel, job, "some")) == ["H100:0,1 0,1 2", "H100:2,3 2,3 2"]
    check_shown(runnel, job)
    (runnel.home / "jobs" / job / "shared/go").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert lines(runnel, job, "own") == ["H100:0 7"], "the user's word wins, but over our own names"
    assert lines(runnel, job, "none") == ["<>  void no"]
