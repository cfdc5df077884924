"""What the tool answers: one document, whole lists, and words for what cannot be."""

import json
import re
import sqlite3
import subprocess
import time

from conftest import BINARY
from fake_nvml import FakeNvml


def test_logs_take_the_name_that_ps_shows(runnel):
    job = runnel.up("params: {n: [1, 2]}\nresources: {cpus: 0.5}\nrun: echo I am {{n}}; sleep 20")
    runnel.until(lambda: runnel.json("show", job)["counts"].get("RUNNING") == 2)
    names = [line.split()[0] for line in runnel.run("ps", job).splitlines()[1:]]
    assert sorted(name.split("/", 1)[0] for name in names) == [job, job]
    runnel.until(lambda: [runnel.run("logs", name).strip() for name in sorted(names)] == ["I am 1", "I am 2"])
    assert runnel.run("logs", names[0] + "#1") == runnel.run("logs", names[0])
    runnel.run("cancel", job)


def test_what_cannot_be_an_id_names_no_job(runnel):
    runnel.run("run", "--", "true")
    for words in (["wait"], ["show"], ["cancel"], ["logs"], ["events"], ["explain"], ["delete"]):
        for job in ("", "a/b", "nonsense", "0" * 13):
            runnel.run(*words, job, code=1, timeout=20)
            assert f"there is no job '{job}'; list them: runnel ps -a" in runnel.err
    runnel.run("wait", "a/b", "--status", code=102)


def test_each_of_several_ended_jobs_is_named(runnel):
    ids = [runnel.ended("run: echo 1\n") for _ in range(2)]
    assert runnel.run("explain", *ids) == "".join(f"job {job} has ended: SUCCEEDED\n" for job in ids)


def test_a_program_that_is_given_as_a_job_file_is_shown_as_a_command(runnel):
    for name, text, hint in [("train.py", "import os\nprint({}: 1)\n", "python train.py"), ("go.sh", "echo: 1", "sh go.sh"),
                             ("go", "#!/bin/sh\necho 1\n", "./go")]:
        runnel.file(text, name)
        runnel.run("run", name, code=2)
        assert "is a program and no job file" in runnel.err and f"runnel run -- {hint}\n" in runnel.err, runnel.err
    runnel.run("run", "python", "train.py", code=2)
    assert "runnel run -- python train.py" in runnel.err


def test_a_refusal_for_want_of_nodes_says_where_they_are_declared(runnel):
    runnel.run("run", "--cpus", "9000", "--", "true", code=2)
    assert f"or declare a larger node in {runnel.home}/nodes.yaml" in runnel.err


def test_several_answers_are_one_document(runnel):
    ids = [runnel.up("run: sleep 1000\ngrace: 100ms\n") for _ in range(2)]
    assert [each["id"] for each in runnel.json("explain", *ids)] == ids
    assert [each["id"] for each in runnel.json("halt", *ids)] == ids
    answers = runnel.json("cancel", ids[0], "zzzzzzzzzzzz", code=1)
    assert answers[0]["id"] == ids[0] and answers[1]["error"]["code"] == "not-found"
    assert runnel.json("cancel", ids[1])["id"] == ids[1]
    for job in ids:
        runnel.wait(job)
    assert [each["deleted"] for each in runnel.json("delete", *ids)] == [True, True]
    faults = runnel.json("validate", "-f", runnel.file("name: a b\nrum: x\n"), code=2)
    assert len(faults["errors"]) > 1 and faults["error"] == faults["errors"][0]


def test_lists_are_whole_or_say_that_they_are_not(runnel):
    job = runnel.up("params: {n: {range: [1, 1500]}}\nparallel: 1\nrun: sleep 1000\ngrace: 100ms\n")
    runnel.run("cancel", job)
    assert len(runnel.json("show", job, "--tasks", "--limit", "1500")["tasks"]) == 1500
    assert "next_page_token" in runnel.json("show", job, "--tasks", "--limit", "1200")
    assert len(runnel.run("show", job, "--tasks", "--limit", "1200", "-o", "name").splitlines()) == 1200
    assert "showing 1200 rows; use --limit N" in runnel.err
    runnel.run("run", "--", "true")
    assert len(runnel.run("ps", "-a", "--limit", "1", "-o", "name").splitlines()) == 1
    assert "showing 1 rows; use --limit N" in runnel.err
    assert len(runnel.run("ps", "-a", "-o", "name").splitlines()) == 2
    assert "showing" not in runnel.err


def test_names_are_names(runnel):
    file = runnel.file("steps: {a: {run: 'true'}, b: {run: 'true'}}")
    assert runnel.run("plan", "-f", file, "-o", "name") == "a\nb\n"
    job = runnel.up(file.read_text())
    assert runnel.run("show", job, "-o", "name") == job + "\n"
    assert runnel.run("show", job, "--tasks", "-o", "name") == "a/0\nb/0\n"
    assert runnel.run("show", job, "--step", "b", "--task", "0", "-o", "name") == "b/0\n"
    runnel.wait(job)


def test_watching_stops_at_its_limit(runnel):
    runnel.run("run", "--", "true")
    assert len(runnel.run("events", "--watch", "--limit", "3", timeout=20).splitlines()) == 3


def test_a_run_that_waits_says_once_for_what(runnel):
    secret = runnel.work / "late"
    secret.symlink_to(secret)  # The disk refuses it, which may pass: what is not there fails for good.
    process = runnel.start("run", runnel.file(f"secrets: {{TOKEN: 'file:{secret}'}}\nrun: echo $TOKEN\n"))
    assert process.stderr.readline().startswith("job ")
    line = process.stderr.readline()
    if "Resources" in line:  # A busy machine takes long to decide.
        line = process.stderr.readline()
    assert "job: BeginTime: task 0 tries again" in line, line
    why = f"(StartFailed): secrets.TOKEN: the secret TOKEN cannot be read: open {secret}: Too many levels"
    assert why in line, line
    job = runnel.json("ps")["jobs"][0]["id"]
    assert why in " ".join(runnel.run("explain", job).split())
    secret.unlink()
    secret.write_text("here\n")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and out == "here\n"
    assert "BeginTime" not in err, "it was told once"


def test_a_failure_names_its_exit_code(runnel):
    file = runnel.file("steps: {a: {run: 'true'}, train: {run: exit 7}}")
    runnel.run("run", file, code=1)
    assert "train/0 ended with exit code 7 (NonZeroExit)" in runnel.err
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    assert "failure     train/0 ended with exit code 7 (NonZeroExit)" in runnel.run("show", job)


def test_closed_standard_streams_write_nowhere(runnel):
    runnel.run("run", "--", "true")
    for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
        command = f"{BINARY} run -- sh -c 'echo out; echo err >&2' {closed}"
        assert subprocess.run(["sh", "-c", command], cwd=runnel.work, env=runnel.env).returncode == 0
    runnel.until(lambda: not runnel.pids())
    runnel.run("fsck")


def test_what_a_repair_kept_is_told(runnel):
    runnel.run("run", "--", "true")
    job = runnel.up("run: exit 3\n")
    runnel.wait(job)
    for _ in range(2):  # Each end keeps a snapshot; the newer goes on without what lies before it.
        runnel.until(lambda: not runnel.pids())
        runnel.run("run", "--", "true")
    runnel.until(lambda: not runnel.pids())
    with sqlite3.connect(runnel.home / "log") as log:
        log.execute("UPDATE batch SET input = '{}' WHERE seq = 1")
    log.close()
    runnel.run("fsck", code=1)
    runnel.run("fsck", "--repair")
    runnel.until(lambda: runnel.run("events"))  # The daemon that begins here writes the first that are kept.
    oldest = int(runnel.run("events").split(maxsplit=1)[0])
    assert oldest > 1
    runnel.run("events", "--after", "0", code=1)
    assert f"runnel events --after {oldest - 1}" in runnel.err
    runnel.run("events", job)
    task = runnel.json("show", job, "--task", "0")["task"]
    assert task["status"] == "FAILED" and task["exit_code"] == 3
    assert runnel.json("events", "--watch", "--limit", "1")["seq"] == oldest


def test_ps_of_a_job_shows_what_its_tasks_use(runnel):
    job = runnel.up("""
steps:
  spin: {resources: {cpus: 0.5}, run: "while :; do :; done"}
  rest: {resources: {cpus: 0.5}, run: sleep 1000}
""")
    runnel.until(lambda: len(runnel.json("ps", job)["tasks"]) == 2)
    time.sleep(0.5)
    rest, spin = sorted(runnel.json("ps", job)["tasks"], key=lambda task: task["step"])
    # How much of a core a loop gets is up to what else the machine does.
    assert spin["cpus"] > 0.05 and rest["cpus"] < spin["cpus"] / 4
    assert spin["memory"] > 100_000 and spin["gpu"] is None
    table = runnel.run("ps", job).splitlines()
    assert re.split("  +", table[0]) == ["NAME", "STATE", "NODE", "CPU", "RAM", "GPU", "GPU RAM"]
    row = re.split("  +", table[1])
    assert row[:2] == [f"{job}/spin/0", "RUNNING"] and row[-2:] == ["-", "-"]
    assert runnel.run("ps", job, "-o", "tsv").splitlines()[1].startswith(f"{job}/spin/0\tRUNNING\t")
    runnel.run("cancel", job)


def test_ps_of_a_job_shows_what_the_driver_says_of_gpus(runnel):
    nvml = FakeNvml(runnel, 2)
    pid = runnel.work / "pid"
    job = runnel.up(f"""
steps:
  train: {{resources: {{cpus: 0.5}}, run: "echo $$ > {pid}.part; mv {pid}.part {pid}; sleep 1000"}}
  wait: {{resources: {{cpus: 0.5}}, run: sleep 1000}}
""")
    runnel.until(lambda: pid.exists() and len(runnel.json("ps", job)["tasks"]) == 2)
    nvml.run([(0, int(pid.read_text()), 87, 1024), (1, int(pid.read_text()), 13, 512), (1, 1, 50, 100)])
    time.sleep(1)  # An answer from before serves for so long.
    train, rest = sorted(runnel.json("ps", job)["tasks"], key=lambda task: task["step"])
    assert (train["gpu"], train["gpu_memory"]) == (1, 1536 << 20)
    assert (rest["gpu"], rest["gpu_memory"]) == (0, 0)
    assert re.search("  100 %  +1.5 GiB\n", runnel.run("ps", job))
    nvml.path.unlink()  # The driver has gone.
    runnel.until(lambda: runnel.json("ps", job)["tasks"][0]["gpu"] is None)
    runnel.run("cancel", job)


def test_a_run_says_its_name_and_how_it_ended(runnel):
    assert runnel.run("run", "--", "echo", "data") == "data\n"
    begin, end = runnel.err.splitlines()
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    assert begin == f"job {job}  (logs: runnel logs {job})"
    assert re.fullmatch(f"job {job}: SUCCEEDED in [0-9.]+ m?s", end)
    assert runnel.run("run", "-q", "--", "echo", "data") == "data\n" and runnel.err == ""
    runnel.run("run", "--", "sh", "-c", "exit 4", code=4)
    assert re.search(r"job (\w+): FAILED in .*: sh/0 ended with exit code 4 \(NonZeroExit\); retry: runnel retry \1\n$", runnel.err)


def test_a_search_ends_with_its_best_trial_and_its_outputs(runnel):
    runnel.run("run", runnel.file("""
params: {x: {values: [3, 1, 2]}}
search: {metric: loss, mode: min, max_trials: 3, method: grid}
resources: {cpus: 0.5}
run: |
  echo "{\\"step\\": 1, \\"loss\\": {{x}}}" > $RUNNEL_METRICS_FILE
  echo {{x}} > $RUNNEL_JOB_DIR/{{x}}
""".replace("{values: [3, 1, 2]}", "[3, 1, 2]")))
    said = runnel.err.splitlines()
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    trial = runnel.json("study", "best", job)["trial"]
    assert f"best of job: trial {trial}, loss=1 with x=1" in said, said
    assert f"outputs: {runnel.home}/jobs/{job}/shared" in said, said
    assert not any("cost" in line for line in said), "nobody has set a price for this machine"


FAILS = """
params: {n: [1, 2, 3]}
resources: {cpus: 0.5}
run: |
  for i in $(seq 20); do echo fine $i; done
  for i in $(seq 20); do echo "line $i" >&2; done
  echo "ModuleNotFoundError: No module named 'turch'" >&2
  exit {{n}}
"""


def test_a_failure_ends_with_its_cause_its_last_lines_and_the_command_for_more(runnel):
    runnel.run("run", runnel.file(FAILS), code=1)
    said = runnel.err
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    block = said[said.index(f"job {job}: FAILED"):].splitlines()
    assert block[1] == "job/0 ended with exit code 1 (NonZeroExit)", block
    shown = block[block.index("the last lines of its output:") + 1:][:10]
    assert shown == [f"  line {i}" for i in range(12, 21)] + ["  ModuleNotFoundError: No module named 'turch'"]
    assert f"output:  runnel logs {job}/job/0" in block and f"retry:   runnel retry {job}" in block
    assert "runs the job as it was submitted; after a change of the job file: runnel run FILE" in said
    assert "as it was submitted" in runnel.run("retry", "--help")
    told = runnel.run("explain", job)
    assert told.startswith(f"job {job} has ended: FAILED: ") and f"runnel logs {job}/job/0" in told
    assert "nothing waits" not in told
    last = ["the last lines of its output:", *shown]
    assert told.splitlines()[-11:] == last
    lines = runnel.run("show", job).splitlines()
    at = lines.index(f"output      runnel logs {job}/job/0")
    assert lines[at + 1:at + 12] == last


RETRIED = """
retry: {max: 1, backoff: 1ms..1ms}
resources: {cpus: 0.5}
run: |
  if [ ! -e "$RUNNEL_JOB_DIR/x" ]; then touch "$RUNNEL_JOB_DIR/x"; echo "CUDA out of memory" >&2; exit 3; fi
  echo "disk full, giving up"; echo; echo; exit 4
"""


def test_the_last_lines_are_of_the_last_attempt(runnel):
    """Whatever the one before it wrote; in words and as a document."""
    runnel.run("run", runnel.file(RETRIED), code=4)
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    told = runnel.run("explain", job).splitlines()
    assert told[-2:] == ["the last lines of its output:", "  disk full, giving up"], told
    document = runnel.json("explain", job)
    assert document["cause"] == "job/0 ended with exit code 4 (NonZeroExit)"
    assert document["last_lines"] == ["disk full, giving up"]
    assert document["first_failure"]["exit_code"] == 4 and "task 0 failed" in document["message"]


def test_a_cancelled_job_names_its_failure_and_that_it_was_cancelled_on_request(runnel):
    job = runnel.up("""
params: {i: [1, 2]}
resources: {cpus: 0.5}
run: if [ {{i}} = 1 ]; then echo early death >&2; exit 5; fi; sleep 1000
""")
    runnel.until(lambda: runnel.json("show", job)["counts"].get("FAILED") == 1)
    runnel.run("cancel", job)
    runnel.wait(job)
    told = runnel.run("explain", job)
    assert "CANCELLED: cancelled on request; before that, step 'job': task 0 failed" in " ".join(told.split()), told
    assert f"runnel logs {job}/job/0" in told and told.endswith("  early death\n")


def test_a_job_says_what_it_ran_and_where_it_left_it(runnel):
    """While it runs and when it has ended; as it was submitted, and its commands in short."""
    file = runnel.file("""
steps:
  first: {command: [sh, -c, 'echo a > $RUNNEL_JOB_DIR/a']}
  next: {depends_on: [first], run: "# Waits.\\nsleep 0.01\\necho done"}
resources: {cpus: 0.5}
""")
    job = runnel.json("up", "-f", file)["id"]
    runnel.wait(job)
    told = runnel.run("show", job)
    assert "first runs: sh -c 'echo a > $RUNNEL_JOB_DIR/a'\n" in told
    assert "next runs: sleep 0.01 ...\n" in told
    assert f"outputs     {runnel.home}/jobs/{job}/shared\n" in told
    assert f"folder      {runnel.home}/jobs/{job}\n" in told
    assert runnel.json("show", job, "--spec") == runnel.json("plan", "-f", file)
    assert runnel.run("show", job, "--spec") == runnel.run("plan", "-f", file, "-o", "yaml")
    runnel.run("show", job, "--spec", "--tasks", code=2)
    assert "as the service keeps it" in " ".join(runnel.run("show", "--help").split())


def test_a_missing_metric_is_told_where_the_job_ends(runnel):
    runnel.run("run", runnel.file("""
params: {x: [1, 2]}
search: {metric: acuracy, mode: max, max_trials: 2, method: grid}
resources: {cpus: 0.5}
run: echo '{"step":1,"accuracy":0.5}' > $RUNNEL_METRICS_FILE
"""), code=1)
    assert "did you mean 'accuracy'?" in runnel.err
    assert "job/0 failed (MetricMissing): " in runnel.err and "exit code" not in runnel.err
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    assert "did you mean 'accuracy'?" in runnel.run("explain", job)
    assert "did you mean 'accuracy'?" in runnel.run("show", job)


HOSTILE = "a\n0  2026-01-01 forged\x1b[2J\x07\x9b31m\u202e"


def test_no_text_of_a_users_moves_the_cursor_or_makes_a_line(runnel):
    """Names, commands and reports with line ends and escape codes, through every command that prints."""
    name = json.dumps(HOSTILE)
    job = runnel.up(f"""
steps:
  s:
    params: {{x: [{name}, "b"]}}
    search: {{metric: loss, mode: min, max_trials: 2, method: grid}}
    envs: {{E: {name}}}
    resources: {{cpus: 0.5}}
    command: [python3, -c, "import json, os, sys, time; open(os.environ['RUNNEL_METRICS_FILE'], 'w').write(json.dumps({{'step': 1, 'loss': 1, os.environ['E']: 2}}) + chr(10)); time.sleep(2)", {name}]
  t: {{depends_on: s, command: [{name}]}}
""")
    commands = [("ps",), ("ps", "-o", "wide"), ("ps", "-o", "tsv"), ("ps", job), ("explain", job), ("show", job)]
    seen = [(words, runnel.run(*words), runnel.err) for words in commands]
    runnel.wait(job)
    commands = [("ps", "-a", "-o", "wide"), ("explain", job), ("show", job), ("show", job, "--tasks"),
                ("show", job, "--step", "s", "--task", "0"), ("show", job, "--step", "t", "--task", "0"),
                ("events",), ("events", job, "-o", "tsv"), ("metrics", job), ("study", "list"), ("study", "show", job),
                ("study", "best", job), ("plan", "-o", "wide", "-f", runnel.work / "job.yaml"), ("nodes",), ("home",)]
    seen += [(words, runnel.run(*words), runnel.err) for words in commands]
    wrong = runnel.file(f"name: {name}\n")
    for words in (("validate", "-f", wrong), ("up", "-n", HOSTILE, "-f", wrong), ("show", HOSTILE), (HOSTILE,),
                  ("show", "--" + HOSTILE), ("validate", "-f", HOSTILE), ("run", "-d", "--", HOSTILE), ("run", "--cpus", HOSTILE, "--", "true"),
                  ("logs", job, "--step", HOSTILE), ("run", "-e", HOSTILE, "--", "true"), ("ps", "-o", HOSTILE)):
        seen.append((words, runnel.run(*words, code=None), runnel.err))
    for words, out, err in seen:
        for text in (out, err):
            odd = [c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 or c == "\u202e"]
            assert not odd and "\n0  2026" not in text, (words, text)
    assert any("\\x1b[2J" in out for _, out, _ in seen), "it was printed, in a harmless form"


def test_a_task_speaks_to_the_home_that_runs_it(runnel):
    env = dict(runnel.env, HOME=str(runnel.work / "nobody"))
    out = runnel.run("run", "--", "sh", "-c", f"{BINARY} show $RUNNEL_JOB_ID -o name; {BINARY} home", env=env)
    job = runnel.json("ps", "-a")["jobs"][0]["id"]
    assert out.startswith(job + "\n") and str(runnel.home) in out
    assert not (runnel.work / "nobody").exists()


def test_what_the_shell_has_and_tasks_do_not_get_is_named(runnel):
    env = {key: value for key, value in runnel.env.items() if key not in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")}
    env.update(WANDB_API_KEY="k", AWS_PROFILE="me", MINE="m")
    script = ("sh", "-c", "echo ${WANDB_API_KEY-none} ${AWS_PROFILE-none} ${MINE-none}")
    assert runnel.run("run", "-q", "--", *script, env=env) == "none none none\n"
    warning = "set in this shell, but not passed to tasks: AWS_PROFILE, WANDB_API_KEY; pass on with -e NAME"
    assert runnel.err.count("\n") == 1 and warning in runnel.err
    assert runnel.run("run", "-q", "-e", "WANDB_API_KEY", "-e", "AWS_PROFILE", "--", *script, env=env) == "k me none\n"
    assert runnel.err == ""
    assert runnel.run("run", "-q", "--env-all", "-e", "MINE=given", "--", *script, env=env) == "k me given\n"
    assert runnel.err == ""
    env = {**runnel.env, "CUDA_VISIBLE_DEVICES": "1", "OMP_NUM_THREADS": ""}
    shown = ("sh", "-c", "echo :$CUDA_VISIBLE_DEVICES")
    assert runnel.run("run", "-q", "--", *shown, env=env) == ":\n"
    assert "a task that asks for no devices sees none; ask for them with --gpus" in runnel.err
    assert runnel.run("run", "-q", "-e", "CUDA_VISIBLE_DEVICES", "--", *shown, env=env) == ":1\n"


def test_a_machine_of_ones_own_has_no_price_until_one_is_set(runnel, tmp_path):
    runnel.env["XDG_CONFIG_HOME"] = str(tmp_path)
    assert "PRICE" not in runnel.run("nodes") and "$" not in runnel.run("plan", "-f", runnel.file("run: 'true'"))
    runnel.run("run", "--", "true")
    assert "cost" not in runnel.json("ps", "-a")["jobs"][0]
    assert "CHEAPEST INSTANCE" in runnel.run("plan", "-o", "wide", "-f", runnel.file("run: 'true'"))


def test_a_validated_file_says_nothing_of_the_shell(runnel):
    assert "environment" not in runnel.json("validate", "-f", runnel.file("run: 'true'"))
    runnel.run("run", "nofile.yaml", code=2)
    assert "--file" not in runnel.err and "job file: open nofile.yaml" in runnel.err


TWO_GOALS = """
steps:
  tune:
    params: {x: {uniform: [0, 1]}, y: {uniform: [0, 1]}}
    search: {objectives: {error: min, accuracy: max}, max_trials: 5}
    run: echo error=1 accuracy=2
"""


def test_a_plan_says_what_a_search_looks_for(runnel):
    told = runnel.run("plan", "-f", runnel.file(TWO_GOALS))
    assert "  tune: minimize error; maximize accuracy; 2 parameters; up to 5 trials\n" in told
    one = TWO_GOALS.replace("objectives: {error: min, accuracy: max}, max_trials: 5", "metric: error, mode: min, max_trials: 1")
    told = runnel.run("plan", "-f", runnel.file(one.replace(", y: {uniform: [0, 1]}", "")))
    assert "  tune: minimize error; 1 parameter; up to 1 trial\n" in told
