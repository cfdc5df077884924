"""Devices are granted: no two live tasks have one, whoever is killed.

RUNNEL_CRASHES sets the number of kills (4 here at least).
"""

import json
import os
import pathlib
import random
import subprocess
import time

from conftest import kill
from fake_nvml import FakeNvml

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
        assert runnel.wait(job)["status"] == "SUCCEEDED"
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


WAITS = """
resources: {cpus: 1, accelerators: "H100:1"}
params: {n: {range: [0, 7]}}
run: |
  echo $RUNNEL_TASK_INDEX $CUDA_VISIBLE_DEVICES >> $RUNNEL_JOB_DIR/begun
  while ! test -e $RUNNEL_JOB_DIR/go; do sleep 0.1; done
"""


def quarantined(runnel):
    return runnel.json("nodes")["nodes"][0]["devices"].get("quarantined", [])


def attempts_of(runnel, job, task):
    return runnel.json("show", job, "--task", task)["attempts"]


def test_a_vanished_device_is_left_alone_and_its_task_moves(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(EIGHT)
    nvml = FakeNvml(runnel, 8)
    job = runnel.up(WAITS)
    runnel.until(lambda: len(lines(runnel, job, "begun")) == 8)
    runnel.until(lambda: (runnel.home / "devices.json").exists())
    holder = dict(reversed(line.split()) for line in lines(runnel, job, "begun"))
    nvml.have([0, 1, 2, 4, 5, 6, 7])
    runnel.until(lambda: quarantined(runnel), timeout=30)
    device = quarantined(runnel)[0]
    assert (device["kind"], device["index"]) == ("H100", 3)
    assert device["reason"] == "NVML lists it no more"
    assert "H100:3 of gpu is granted to nobody: missing since" in runnel.run("nodes")
    moved = holder["3"]
    runnel.until(lambda: attempts_of(runnel, job, moved)[0].get("reason") == "DeviceLost", timeout=60)
    first = attempts_of(runnel, job, moved)[0]
    assert first["status"] == "NODE_FAIL" and first["fault"] == "platform"
    assert "its H100:3 on gpu vanished while it had it" in first["message"]
    told = runnel.run("explain", job)
    assert "nobody is granted H100:3 of 'gpu', missing since" in told and "nvidia-smi" in told
    # The seven go on, and a daemon that begins anew still knows which one is gone.
    kill(runnel.info()["daemon_pid"])
    assert any("H100:3 of gpu (GPU-3) is missing" in line for line in until_notices(runnel))
    assert [one["index"] for one in quarantined(runnel)] == [3]
    (runnel.home / "jobs" / job / "shared/go").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    begun = [line.split() for line in lines(runnel, job, "begun")]
    assert len(begun) == 9 and [task for task, _ in begun].count(moved) == 2
    assert [shown for _, shown in begun].count("3") == 1
    nvml.have(range(8))
    runnel.until(lambda: quarantined(runnel)[0].get("again_at"), timeout=30)


def test_a_device_that_is_missing_when_its_node_is_renamed_is_granted_to_nobody(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(EIGHT)
    nvml = FakeNvml(runnel, 8)
    job = runnel.up("run: sleep 1000\ngrace: 100ms\n")  # The home goes on, and the old node drains.
    runnel.until(lambda: (runnel.home / "devices.json").exists())
    nvml.have([0, 1, 2, 4, 5, 6, 7])
    runnel.until(lambda: quarantined(runnel), timeout=60)
    (runnel.home / "nodes.yaml").write_text(EIGHT.replace("gpu", "new"))

    def lost_by_new():
        found = [one for one in runnel.json("nodes")["nodes"] if one["id"] == "new"]
        return [device["index"] for one in found for device in one["devices"].get("quarantined", [])]

    runnel.until(lost_by_new, timeout=60)
    assert lost_by_new() == [3], "beside the node that drains"
    runnel.run("cancel", job)
    tasks = runnel.up(WAITS)
    runnel.until(lambda: len(lines(runnel, tasks, "begun")) == 7)
    assert sorted(line.split()[1] for line in lines(runnel, tasks, "begun")) == list("0124567")
    assert "H100:3 of new is granted to nobody" in runnel.run("nodes")
    runnel.until(lambda: "of gpu is granted" not in runnel.run("nodes"))  # Once it has gone.
    (runnel.home / "jobs" / tasks / "shared/go").touch()
    runnel.wait(tasks)


def test_a_machine_with_devices_needs_no_declaration(runnel):
    FakeNvml(runnel, 2)
    assert "2/2 H100" in runnel.run("nodes", "-o", "wide")
    job = runnel.up("""
resources: {cpus: 0.1, accelerators: "H100:1"}
params: {n: {range: [0, 3]}}
run: |
  echo $CUDA_VISIBLE_DEVICES >> $RUNNEL_JOB_DIR/begun
  while test $(wc -l < $RUNNEL_JOB_DIR/begun) -lt 2; do sleep 0.1; done
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert set(lines(runnel, job, "begun")) == {"0", "1"}
    none = runnel.up("run: echo \"<$CUDA_VISIBLE_DEVICES>\" >> $RUNNEL_JOB_DIR/begun")
    assert runnel.wait(none)["status"] == "SUCCEEDED"
    assert lines(runnel, none, "begun") == ["<>"], "who asked for none sees none"
    assert "NVIDIA H100 80GB HBM3; NVIDIA H100 80GB HBM3" in runnel.run("check")


def until_notices(runnel):
    runnel.until(lambda: runnel.info()["notices"], timeout=30)
    return runnel.info()["notices"]


def environment_of(pid):
    text = pathlib.Path(f"/proc/{pid}/environ").read_text()
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def test_a_shell_that_shows_some_devices_only_declares_none(runnel):
    FakeNvml(runnel, 8)
    runnel.env["CUDA_VISIBLE_DEVICES"] = "5"
    assert "H100" not in runnel.run("nodes", "-o", "wide")
    info = runnel.info()
    assert environment_of(info["daemon_pid"])["CUDA_VISIBLE_DEVICES"] == "5"
    assert "CUDA_VISIBLE_DEVICES" not in environment_of(info["runner_pid"])
    assert runnel.run("run", "--", "sh", "-c", "echo \"<$CUDA_VISIBLE_DEVICES>\"") == "<>\n"
    runnel.run("up", "-f", runnel.file('{resources: {accelerators: "H100:1"}, run: "true"}'), code=2)
    kill(info["daemon_pid"])
    # As a command in a task of this home would start the next one.
    in_task = dict(runnel.env, RUNNEL_API=f"unix:{runnel.home}/daemon.sock")
    assert "8/8 H100" in runnel.run("nodes", "-o", "wide", env=in_task)
    assert "CUDA_VISIBLE_DEVICES" not in environment_of(runnel.info()["daemon_pid"])


def let_pass(runnel, seconds):
    """As if the last look had been so much earlier. For the next daemon."""
    path = runnel.home / "local_devices.json"
    kept = json.loads(path.read_text())
    if "failed" in kept:
        kept["failed"]["at"] -= seconds * 1_000
    else:
        kept["passing_since"] -= seconds * 1_000
    path.write_text(json.dumps(kept))


ONE = '{resources: {cpus: 0.1, accelerators: "H100:1"}, run: "true"}'


def test_devices_of_a_driver_that_hung_are_found_when_it_answers(runnel):
    nvml = FakeNvml(runnel, 2)
    nvml.say("hang\n")
    told = until_notices(runnel)
    assert any("the devices of this machine are not known" in line and "has not answered for" in line for line in told), told
    begun = time.monotonic()
    runnel.run("up", "-f", runnel.file(ONE), code=2)
    assert "no node has the device 'H100', as those of this machine are not known: the driver" in runnel.err, runnel.err
    assert "declare a node" in runnel.err
    kill(runnel.info()["daemon_pid"])
    assert runnel.info()["notices"]
    assert time.monotonic() - begun < 4, "the driver was waited for again"
    nvml.have(range(2))
    let_pass(runnel, 50)  # Of 60 s, after which it is asked again.
    kill(runnel.info()["daemon_pid"])
    assert "H100" not in runnel.run("nodes", "-o", "wide")
    job = runnel.up("run: while ! test -e $RUNNEL_JOB_DIR/go; do sleep 0.1; done")
    runnel.until(lambda: "2/2 H100" in runnel.run("nodes", "-o", "wide"), timeout=60)
    assert "the nodes of the home are others" in runnel.daemon_log()
    assert runnel.info()["notices"] == []
    assert runnel.wait(runnel.up(ONE))["status"] == "SUCCEEDED"
    (runnel.home / "jobs" / job / "shared/go").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def test_devices_in_another_order_than_that_of_their_names_are_not_granted(runnel):
    nvml = FakeNvml(runnel, 2)
    nvml.say("GPU-0 NVIDIA T400 4GB\nGPU-1 NVIDIA A100-SXM4-80GB\n")
    assert any("in the order T400, A100, and" in line for line in until_notices(runnel))
    runnel.run("up", "-f", runnel.file(ONE.replace("H100", "A100")), code=2)
    assert "T400, A100" in runnel.err, runnel.err
    assert "declare them in nodes.yaml" in runnel.run("check", code=1)


def test_what_an_absent_driver_says_is_not_kept_for_long(runnel):
    assert "H100" not in runnel.run("nodes", "-o", "wide")
    runnel.end_idle_daemon()
    runnel.rest()
    let_pass(runnel, 60)
    FakeNvml(runnel, 2)
    assert "2/2 H100" in runnel.run("nodes", "-o", "wide")


def test_a_look_that_crashes_is_a_problem(runnel):
    FakeNvml(runnel, 1).say("crash\n")
    told = runnel.run("check", code=1)
    assert "failed by signal 6" in told and "see nvidia-smi and dmesg" in told, told


def test_who_fails_for_want_of_its_device_does_not_pay(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(EIGHT)
    nvml = FakeNvml(runnel, 8)
    job = runnel.up("""
resources: {cpus: 1, accelerators: "H100:1"}
run: |
  echo $CUDA_VISIBLE_DEVICES >> $RUNNEL_JOB_DIR/begun
  while test $RUNNEL_ATTEMPT = 1 && ! test -e $RUNNEL_JOB_DIR/fail; do sleep 0.1; done
  exit $((2 - RUNNEL_ATTEMPT))
""")
    runnel.until(lambda: lines(runnel, job, "begun") == ["0"])
    runnel.until(lambda: (runnel.home / "devices.json").exists())
    nvml.say("\n".join([nvml.lines[0] + " LOST"] + nvml.lines[1:]) + "\n")
    (runnel.home / "jobs" / job / "shared/fail").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert lines(runnel, job, "begun") == ["0", "1"]
    first, second = attempts_of(runnel, job, "0")
    assert first["reason"] == "DeviceLost" and "NVML: GPU is lost" in first["message"]
    assert second["status"] == "SUCCEEDED"


def test_a_driver_that_hangs_is_named_and_the_daemon_serves_on(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(EIGHT)
    FakeNvml(runnel, 8).say("hang\n")
    job = runnel.up('{resources: {cpus: 1, accelerators: "H100:1"}, run: "true"}')
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert any("has not answered for" in line for line in until_notices(runnel))
    assert quarantined(runnel) == []


def test_a_look_that_hangs_ends_though_its_daemon_was_killed(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(EIGHT)
    FakeNvml(runnel, 8).say("hang\n")
    job = runnel.up('{resources: {cpus: 1}, run: sleep 1000}')

    def looks():
        everybody = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
        return [line for line in everybody.splitlines() if str(runnel.home) in line and line.endswith(" devices")]

    runnel.until(looks)
    kill(runnel.info()["daemon_pid"])
    runnel.until(lambda: not looks(), timeout=30)
    runnel.run("cancel", job)


def test_each_rank_of_a_gang_sees_the_devices_of_its_place(runnel):
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(
        "nodes: [{name: a, cpus: 4, memory: 4GB, accelerators: {H100: 4}},"
        " {name: b, cpus: 4, memory: 4GB, accelerators: {H100: 2}}]\n")
    job = runnel.up("""
num_nodes: 2
procs_per_node: 2
resources: {cpus: 2, accelerators: "H100:2"}
run: |
  echo $RANK $LOCAL_RANK "$CUDA_VISIBLE_DEVICES" "$NVIDIA_VISIBLE_DEVICES" "<$ROCR_VISIBLE_DEVICES$HIP_VISIBLE_DEVICES$ZE_AFFINITY_MASK>" "${ROCR_VISIBLE_DEVICES-unset}" $RUNNEL_DEVICES >> $RUNNEL_JOB_DIR/seen
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert sorted(lines(runnel, job, "seen")) == [
        f"{rank} {rank % 2} 0,1 0,1 <>  H100:0,1" for rank in range(4)]
