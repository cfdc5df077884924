"""The one path that must always work: a file or a command, now, attached."""

import json
import os
import re
import signal
import subprocess
import time
from itertools import pairwise

from conftest import BINARY, ROOT, kill


def test_hello(runnel):
    assert runnel.run("run", "--", "echo", "hello") == "hello\n"


def test_a_command_loads_what_talks_to_servers_and_reads_tars_only_when_it_does():
    loaded = subprocess.run(["ldd", BINARY], check=True, capture_output=True, text=True).stdout
    assert "libcrypto" in loaded
    for late in ("libcurl", "libgnutls", "libarchive", "libxml2", "libicu"):
        assert late not in loaded, f"it takes a command longer to load {late} and what that needs than to start"


def test_streams_stay_apart(runnel):
    out = runnel.run("run", "--", "sh", "-c", "echo out; echo err >&2")
    assert out == "out\n"
    assert "err\n" in runnel.err


def test_exit_code_of_a_single_task_is_passed_on(runnel):
    runnel.run("run", "--", "sh", "-c", "exit 7", code=7)
    runnel.run("run", "--", "sh", "-c", "kill -9 $$", code=137)
    runnel.run("run", "--", "/no/such/program", code=127)


def test_time_limit(runnel):
    started = time.monotonic()
    runnel.run("run", "--max-duration", "500ms", "--grace", "200ms", "--", "sleep", "60", code=124)
    assert time.monotonic() - started < 20


def test_a_script_stops_at_its_first_failing_line(runnel):
    file = runnel.file("run:\n- cd /\n- pwd\n- false\n- echo never\n")
    assert runnel.run("run", file, code=1) == "/\n"


def test_diamond_runs_in_order(runnel):
    file = runnel.file("""
steps:
  a: {run: echo a >> $RUNNEL_JOB_DIR/order}
  b: {run: echo b >> $RUNNEL_JOB_DIR/order, depends_on: a}
  c: {run: echo c >> $RUNNEL_JOB_DIR/order, depends_on: a}
  d: {run: cat $RUNNEL_JOB_DIR/order, depends_on: [b, c]}
""")
    lines = [line.removeprefix("d/0: ") for line in runnel.run("run", file).splitlines()]
    assert lines[0] == "a" and sorted(lines[1:]) == ["b", "c"]


def test_a_failed_step_skips_its_dependents_only(runnel):
    job = runnel.up("""
steps:
  a: {run: "true"}
  b: {run: exit 3, depends_on: a}
  c: {run: "true", depends_on: a}
  d: {run: "true", depends_on: [b, c]}
""")
    document = runnel.wait(job)
    assert document["status"] == "FAILED" and document["exit_code"] == 1
    steps = {step["name"]: step["status"] for step in document["steps"]}
    assert steps == {"a": "SUCCEEDED", "b": "FAILED", "c": "SUCCEEDED", "d": "SKIPPED"}


def test_a_sweep_covers_its_grid(runnel):
    job = runnel.up("""
params: {lr: [0.1, 0.01], width: {range: [1, 3]}}
resources: {cpus: 1}
run: echo {{lr}} {{width}}
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    lines = sorted(re.sub(r"^\S+: ", "", line) for line in runnel.run("logs", job).splitlines())
    assert lines == sorted(f"{lr} {width}" for lr in ("0.1", "0.01") for width in (1, 2, 3))


def test_params_with_the_same_seed_are_the_same(runnel):
    text = "params: {x: {uniform: [0, 1]}}\nsamples: 5\nseed: 7\nresources: {cpus: 1}\nrun: echo {{x}}\n"
    plans = [runnel.run("plan", "-f", runnel.file(text)) for _ in range(2)]
    assert plans[0] == plans[1]
    job = runnel.up(text)
    runnel.wait(job)
    values = re.findall(r"0\.\d+", runnel.run("logs", job))
    assert len(set(values)) == 5


def test_retry_by_exit_code(runnel):
    job = runnel.up("""
retry: {max: 3, on_exit_codes: [75], backoff: 10ms..50ms}
run: |
  echo attempt $RUNNEL_ATTEMPT
  test $RUNNEL_ATTEMPT -ge 3 || exit 75
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    task = runnel.json("show", job, "--task", "0")
    assert len(task["attempts"]) == 3, task
    assert "attempt 3" in runnel.run("logs", job, "--attempt", "3")


def test_checkpoint_survives_attempts(runnel):
    job = runnel.up("""
checkpoint: {dir: ckpt, exit_code: 85}
run: |
  test -z "$RUNNEL_RESUME_FROM" || { cat $RUNNEL_RESUME_FROM/step; exit 0; }
  echo saved > $RUNNEL_CHECKPOINT_DIR/step
  exit 85
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    assert "saved" in runnel.run("logs", job)


def test_environment(runnel):
    out = runnel.run("run", "-e", "MINE=1", "--", "env")
    names = {line.split("=", 1)[0] for line in out.splitlines()}
    expected = {"RUNNEL_JOB_ID", "RUNNEL_JOB_NAME", "RUNNEL_JOB_DIR", "RUNNEL_TASK_DIR", "RUNNEL_ATTEMPT",
                "RUNNEL_METRICS_FILE", "RUNNEL_API", "RUNNEL_CHECKPOINT_DIR", "RUNNEL_NODE_RANK", "RUNNEL_NUM_NODES",
                "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MINE", "PATH", "HOME"}
    assert expected <= names, expected - names


def test_tasks_see_the_shell_that_submitted_them_and_nobody_elses(runnel):
    tool = runnel.work / "bin" / "mytool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho mytool $GIVEN ${VIRTUAL_ENV-none} ${SECRET-none}\n")
    tool.chmod(0o755)
    runnel.run("run", "--", "true", env=dict(runnel.env, SECRET="leak", VIRTUAL_ENV="/first"))
    env = dict(runnel.env, PATH=f"{tool.parent}:{runnel.env['PATH']}", GIVEN="given")
    env.pop("VIRTUAL_ENV", None)
    assert runnel.run("run", "-e", "GIVEN", "--", "mytool", env=env) == "mytool given none none\n"


def test_any_python_of_a_task_finds_the_package(runnel):
    """In a virtual environment of the user's own; what they named themselves comes first, and an empty path is left alone."""
    subprocess.run(["/usr/bin/env", "python3", "-m", "venv", "--without-pip", runnel.work / "own"], check=True)
    say = "import runnel, os; runnel.report(step=1, loss=0.5); print(runnel.__version__, os.environ['PYTHONPATH'])"
    (runnel.work / "say.py").write_text(say)
    folder = f"{runnel.home}/lib/python"
    version = (ROOT / "VERSION").read_text().split()[0]
    env = {name: value for name, value in runnel.env.items() if name != "PYTHONPATH"}
    assert runnel.run("run", "--", "own/bin/python", "say.py", env=env) == f"{version} {folder}\n"
    theirs = dict(env, PYTHONPATH="/theirs")
    assert runnel.run("run", "--", "own/bin/python", "say.py", env=theirs) == f"{version} /theirs:{folder}\n"
    runnel.run("run", "-e", "PYTHONPATH=", "--", "own/bin/python", "say.py", code=1, env=env)
    assert "No module named 'runnel'" in runnel.err


def test_the_path_of_a_tasks_folder_stays_true(runnel):
    file = runnel.file("""
parallel: 1
steps:
  make:
    params: {n: {range: [1, 4]}}
    run: |
      echo model {{n}} > $RUNNEL_TASK_DIR/model
      echo $RUNNEL_TASK_DIR/model > $RUNNEL_JOB_DIR/path{{n}}
  use:
    depends_on: make
    params: {n: {range: [1, 4]}}
    run: test "$(cat $(cat $RUNNEL_JOB_DIR/path{{n}}))" = "model {{n}}"
""")
    runnel.run("run", file)


def test_what_python_prints_is_seen_while_it_runs(runnel):
    """An ordinary print, without a flush, of a program that goes on until it was seen."""
    code = "import os, time\nprint('still here')\nwhile not os.path.exists('seen'): time.sleep(0.05)\n"
    (runnel.work / "say.py").write_text(code)
    job = runnel.up("run: python3 say.py\n")
    runnel.until(lambda: "still here" in runnel.run("logs", job))
    assert runnel.job(job)["status"] == "RUNNING"
    (runnel.work / "seen").touch()
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def test_output_is_byte_for_byte(runnel):
    every = bytes(range(256)) * 2000
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 2000)"
    process = subprocess.run([BINARY, "run", "--", "python3", "-c", code], capture_output=True, env=runnel.env)
    assert process.stdout == every
    job = runnel.run("ps", "-a", "-o", "name").split()[0]
    assert subprocess.run([BINARY, "logs", job], capture_output=True, env=runnel.env).stdout == every


def test_a_last_line_without_an_end_is_not_continued(runnel):
    assert runnel.run("run", "--", "printf", "no end") == "no end"
    words = [BINARY, "run", "--", "printf", "no end"]
    both = subprocess.run(words, env=runnel.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60).stdout.splitlines()
    assert "no end" in both and any(line.startswith("job ") for line in both), both


def test_a_progress_bar_is_seen_as_it_goes(runnel):
    script = "printf '\\repoch 0'; while [ ! -e seen ]; do sleep 0.02; done; printf '\\repoch 1'"
    process = runnel.start("run", "--", "sh", "-c", script)
    assert process.stdout.read(8).strip() == "epoch 0"
    (runnel.work / "seen").touch()
    assert process.communicate(timeout=60)[0].endswith("epoch 1")


def test_what_a_task_says_while_it_is_halted_is_shown(runnel):
    script = "trap 'echo saving; sleep 0.5; echo saved; exit 85' TERM; echo up; while :; do sleep 0.1; done"
    process = runnel.start("run", "--", "sh", "-c", script)
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "saving\nsaved\n"
    assert "runnel resume" in err
    assert process.returncode == 130


def test_sigterm_ends_the_client_and_not_the_job(runnel):
    process = runnel.start("run", "--", "sh", "-c", "echo up; sleep 1; echo done")
    assert process.stdout.readline() == "up\n"
    process.terminate()
    process.communicate(timeout=30)
    job = runnel.run("ps", "-a", "-o", "name").split()[0]
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def test_flags_win_over_the_file(runnel):
    file = runnel.file("run: sleep 30\nmax_duration: 1h\ngrace: 1s\n")
    runnel.run("run", "--max-duration", "1s", file, code=124)


def test_the_tool_speaks_as_a_document_too(runnel):
    error = json.loads(runnel.run("show", "50%", "-o", "json", code=1))["error"]
    assert error["code"] == "not-found" and error["value"] == "50%"
    assert runnel.run("logs", "nothing", "--status", code=102) == ""
    assert runnel.run("ps", code=1, stdout=open("/dev/full", "w")) is None
    lines = [json.loads(line) for line in runnel.run("run", "-o", "json", "--", "echo", "hi").splitlines()]
    assert [lines[0]["msg"], lines[-1]["status"]] == ["hi", "SUCCEEDED"]


def test_watching_goes_on_where_it_was_after_a_kill(runnel):
    job = runnel.up("run: sleep 2\n")
    watch = runnel.start("events", "--watch", "--after", "2", "-o", "json", job)
    time.sleep(0.5)
    kill(runnel.info()["daemon_pid"])
    runnel.wait(job)
    time.sleep(0.5)
    watch.send_signal(signal.SIGINT)
    numbers = [json.loads(line)["seq"] for line in watch.communicate(timeout=30)[0].splitlines()]
    assert numbers == sorted(set(numbers)) and numbers[0] > 2


def test_a_gang_gets_its_ranks(runnel):
    file = runnel.file("""
num_nodes: 2
procs_per_node: 1
resources: {cpus: 1}
run: echo $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT
""")
    lines = sorted(runnel.run("run", file).splitlines())
    assert len(lines) == 2
    assert "/0.1: 1 of 2 at " in lines[0] and "/0: 0 of 2 at " in lines[1]


def test_the_first_failing_rank_is_named(runnel):
    job = runnel.up("""
num_nodes: 2
resources: {cpus: 1}
grace: 1s
run: |
  test $RANK = 0 && sleep 1000
  exit 9
""")
    assert runnel.wait(job)["exit_code"] == 9
    attempt = runnel.json("show", job, "--task", "0")["attempts"][0]
    assert attempt["first_failed_rank"] == 1, attempt


def test_secrets_travel_by_reference(runnel):
    file = runnel.file("secrets: [API_KEY]\nrun: test ${#API_KEY} = 9\n")
    runnel.run("run", file, env=dict(runnel.env, API_KEY="hush-4711"))
    runnel.run("validate", file, code=2)
    for path in runnel.home.rglob("*"):
        if path.is_file():
            assert b"hush-4711" not in path.read_bytes(), path


def test_a_secret_in_a_file_is_read_where_the_task_starts(runnel):
    secret = runnel.file("from-a-file\n", "token")
    out = runnel.run("run", runnel.file(f"secrets: {{TOKEN: 'file:{secret}'}}\nrun: echo $TOKEN\n"))
    assert out == "from-a-file\n"


def test_two_steps_may_mean_two_secrets_by_one_name(runnel):
    file = runnel.file("""
steps:
  a: {secrets: {TOKEN: env:AAA}, run: echo $TOKEN}
  b: {secrets: {TOKEN: env:BBB}, run: echo $TOKEN, depends_on: a}
""")
    out = runnel.run("run", file, env=dict(runnel.env, AAA="first", BBB="second"))
    assert out.splitlines() == ["a/0: first", "b/0: second"]


def test_a_retry_takes_its_secrets_from_the_shell_again(runnel):
    file = runnel.file("secrets: [SEC]\nrun: test $SEC = right\n")
    runnel.run("run", file, env=dict(runnel.env, SEC="wrong"), code=1)
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    runnel.run("retry", job, code=2)
    assert "export SEC=... and retry again" in runnel.err
    runnel.run("retry", job, env=dict(runnel.env, SEC="right"))
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    runnel.run("retry", job, code=1)
    assert "only a failed or cancelled job can be retried" in runnel.err


def test_cancel_ends_the_whole_process_tree(runnel):
    job = runnel.up("run: setsid sleep 987 & sleep 986; wait\ngrace: 1s\n")
    runnel.until(lambda: "987" in ps() and "986" in ps())
    runnel.run("cancel", job)
    assert runnel.wait(job)["status"] == "CANCELLED"
    runnel.until(lambda: "sleep 987" not in ps() and "sleep 986" not in ps())


def ps():
    return os.popen("ps -eo args").read()


def test_halt_and_resume(runnel):
    job = runnel.up("run: test $RUNNEL_ATTEMPT -ge 2 || sleep 1000\ngrace: 1s\n")
    runnel.until(lambda: runnel.job(job)["counts"].get("RUNNING"))
    runnel.run("halt", job)
    runnel.until(lambda: runnel.job(job)["status"] == "PAUSED")
    runnel.run("resume", job)
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def ends_after_a_halt_once(go):
    """A job whose first attempt ends after a halt once the file is there."""
    return (f"run: |\n  trap 'until test -e {go}; do sleep 0.1; done; exit 1' TERM\n"
            "  while test $RUNNEL_ATTEMPT = 1; do sleep 0.1; done\ngrace: 60s\n")


def test_resume_waits_for_what_a_halt_is_still_ending(runnel):
    """`runnel halt ID; runnel resume ID` is one line of the README."""
    go = runnel.work / "go"
    job = runnel.up(ends_after_a_halt_once(go))
    runnel.until(lambda: runnel.job(job)["counts"].get("RUNNING"))
    runnel.run("halt", job)
    resume = runnel.start("resume", job)
    assert f"runnel: waiting: job {job} is RUNNING: 1 attempt(s) are still ending after halt" in resume.stderr.readline()
    go.touch()
    _, err = resume.communicate(timeout=60)
    assert resume.returncode == 0, err
    assert runnel.wait(job)["status"] == "SUCCEEDED"


def test_resume_of_several_waits_for_no_other(runnel):
    go = runnel.work / "go"
    slow = runnel.up(ends_after_a_halt_once(go))
    quick = runnel.up("run: test $RUNNEL_ATTEMPT = 2 || exec sleep 1000")
    for job in (slow, quick):
        runnel.until(lambda job=job: runnel.job(job)["counts"].get("RUNNING"))
    runnel.run("halt", slow, quick)
    runnel.until(lambda: runnel.job(quick)["status"] == "PAUSED")
    resuming = runnel.start("resume", slow, quick)
    assert runnel.wait(quick)["status"] == "SUCCEEDED"
    assert resuming.poll() is None, "slow has not ended yet"
    go.touch()
    assert resuming.wait(30) == 0
    assert runnel.wait(slow)["status"] == "SUCCEEDED"


def test_halt_says_whose_work_is_lost(runnel):
    job = runnel.up("""
steps:
  kept: {checkpoint: {dir: ckpt}, resources: {cpus: 0.25}, run: sleep 1000}
  lost: {resources: {cpus: 0.25}, params: {n: [1, 2]}, run: sleep 1000}
grace: 1s
""")
    runnel.until(lambda: runnel.job(job)["counts"].get("RUNNING") == 3)
    runnel.run("halt", job)
    assert f"{job}: pausing; 2 running tasks have no `checkpoint` and begin anew after resume: 2 of lost\n" in runnel.err
    runnel.until(lambda: runnel.job(job)["status"] == "PAUSED")
    runnel.run("halt", job, code=None)
    assert "checkpoint" not in runnel.err
    runnel.run("cancel", job)


def test_retry_runs_only_what_failed(runnel):
    job = runnel.up("""
params: {n: [1, 2, 3]}
resources: {cpus: 1}
run: |
  echo {{n}} >> $RUNNEL_JOB_DIR/ran
  test {{n}} != 2 || test -e go
""")
    assert runnel.wait(job)["status"] == "FAILED"
    (runnel.work / "go").touch()
    runnel.run("retry", job)
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    ran = (runnel.home / "jobs" / job / "shared/ran").read_text().split()
    assert sorted(ran) == ["1", "2", "2", "3"]


def test_delete_removes_the_record_and_the_logs(runnel):
    job = runnel.up("run: echo hi\n")
    runnel.wait(job)
    runnel.run("delete", job)
    assert f"deleted {job} (" in runnel.err and "outputs" not in runnel.err
    runnel.run("show", job, code=1)
    runnel.until(lambda: not (runnel.home / "jobs" / job).exists())


def test_delete_says_which_job_went_and_that_its_outputs_did(runnel):
    job = runnel.ended("name: digits\nrun: echo 1 > $RUNNEL_TASK_DIR/model.pt\n")
    runnel.run("rm", job[:-1])
    assert f"deleted {job} (digits); its outputs are being removed\n" in runnel.err
    assert "outputs" in runnel.run("delete", "--help")


def test_ctrl_c_halts_and_says_how_to_go_on(runnel):
    process = runnel.start("run", "--grace", "1s", "--", "sh", "-c", "echo up; sleep 1000")
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    job = re.search(r"runnel resume (\w+)", err).group(1)
    assert "runnel: 1 running task has no `checkpoint` and begins anew after resume: 1 of sh\n" in err
    assert runnel.job(job)["status"] == "PAUSED"
    runnel.run("cancel", job)


def test_wait_and_status_codes(runnel):
    fine = runnel.up("run: exit 0\n")
    bad = runnel.up("run: exit 4\n")
    runnel.run("wait", fine, code=0)
    runnel.run("wait", bad, code=4)
    runnel.run("wait", bad, "--status", code=100)
    runnel.run("wait", "zzzzzz", "--status", code=102)
    slow = runnel.up("run: sleep 1000\n")
    runnel.run("wait", slow, "--timeout", "100ms", code=124)
    runnel.run("cancel", slow)
    runnel.run("wait", slow, "--status", code=103)


def test_logs_follow_live(runnel):
    job = runnel.up("run: echo one; sleep 1; echo two\n")
    process = runnel.start("logs", "-f", job)
    assert process.stdout.readline() == "one\n"
    assert process.stdout.readline() == "two\n"
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_no_line_is_torn_or_lost(runnel):
    job = runnel.up("""
params: {n: {range: [0, 3]}}
resources: {cpus: 1}
command: [python3, -c, "for i in range(25000): print('task', {{n}}, 'line', i)"]
""")
    runnel.wait(job)
    lines = runnel.run("logs", job).splitlines()
    assert len(lines) == 100_000
    assert len(set(lines)) == 100_000
    assert all(re.fullmatch(r"\S+: task \d line \d+", line) for line in lines)


def test_max_log_keeps_head_and_tail(runnel):
    job = runnel.up("""
max_log: 1MB
command: [python3, -c, "import time\\nfor i in range(60):\\n  print(('%d ' % i) * 20000, flush=True)\\n  time.sleep(0.05)\\nprint('the end')"]
""")
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    out = runnel.run("logs", job)
    assert out.startswith("0 0 0") and out.rstrip().endswith("the end")
    assert "max_log" in out and len(out) < 3_000_000


def test_events_tell_each_change_once(runnel):
    job = runnel.up("run: 'true'\n")
    runnel.wait(job)
    events = [json.loads(line) for line in runnel.run("events", job, "-o", "json").splitlines()]
    states = [event["to"] for event in events if event["type"] == "job.changed"]
    assert states == ["RUNNING", "SUCCEEDED"]
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
    # As `logs` names it.
    assert f"{job}/job/0#1" in runnel.run("events", job) and f"{job}/0" not in runnel.run("events", job)


def test_ids_may_be_shortened(runnel):
    job = runnel.up("run: 'true'\n")
    runnel.wait(job)
    assert runnel.json("show", job[:8])["id"] == job


def test_ps_and_explain(runnel):
    blocker = runnel.up("run: sleep 1000\n")
    runnel.until(lambda: runnel.job(blocker)["counts"].get("RUNNING"))
    cpus = os.cpu_count()
    waiting = runnel.up(f"resources: {{cpus: {cpus}}}\nrun: 'true'\n")
    assert waiting in runnel.run("ps")
    assert "Resources" in runnel.run("explain", waiting) or "Priority" in runnel.run("explain", waiting)
    runnel.run("cancel", blocker)
    assert runnel.wait(waiting)["status"] == "SUCCEEDED"


def test_a_real_log_is_decided_again_to_the_same(runnel):
    job = runnel.up("params: {n: {range: [1, 50]}}\nresources: {cpus: 1}\nrun: 'true'\n")
    runnel.wait(job)
    assert "all to the same" in runnel.run("simulate", "--verify", runnel.home)


def test_fsck_of_a_sound_home(runnel):
    runnel.wait(runnel.up("run: 'true'\n"))
    runnel.until(lambda: not runnel.pids(), timeout=40)
    runnel.run("fsck")


def test_a_home_of_a_newer_version_is_refused(runnel):
    runnel.home.mkdir()
    (runnel.home / "version").write_text("99\n")
    runnel.run("run", "--", "true", code=2)
    assert "newer" in runnel.err


def test_two_daemons_cannot_share_a_home(runnel):
    job = runnel.up("run: sleep 1000\n")
    second = runnel.start("daemon")
    _, err = second.communicate(timeout=20)
    assert second.returncode != 0, err
    runnel.run("cancel", job)


def test_a_daemon_stays_while_commands_come_one_after_another(runnel):
    visits = []
    end = time.monotonic() + 6
    while time.monotonic() < end:
        begin = time.monotonic()
        visits.append((begin, runnel.info()["daemon_pid"], time.monotonic()))
        time.sleep(0.05)
    for (begin, pid, _), (_, next_pid, next_end) in pairwise(visits):
        # On a machine so busy that two commands are two seconds apart it may end between them.
        assert next_pid == pid or next_end - begin > 2


def test_a_daemon_ends_two_seconds_after_the_last_visit(runnel):
    runnel.run("ps")
    time.sleep(0.3)
    runnel.run("ps")
    left = time.monotonic()
    runnel.rest()
    assert 1.5 < time.monotonic() - left < 3
