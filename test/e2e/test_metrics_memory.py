"""What tasks report is read in bounded memory, whatever they write, and holds up nobody else."""

import json
import pathlib
import subprocess
import time
from datetime import datetime

TASKS = 3
FILE_MB = 300
LIMIT_MB = 32  # What the daemon may take for them.
TOLD_S = 1
ANSWERED_S = 2  # Logs of another job, while metrics are read.
BUSY_S = 2  # On top: the tasks keep the whole machine busy with writing until they end.

WRITERS = f"""
params: {{x: {{range: [1, {TASKS}]}}}}
resources: {{cpus: 0.1}}
run: |
  yes '{{"loss": 0.25, "accuracy": 0.5}}' | head -c {FILE_MB}000000 > $RUNNEL_METRICS_FILE
  echo '{{"step": 900000000, "loss": 0.125}}' >> $RUNNEL_METRICS_FILE
  date +%s.%N > $RUNNEL_TASK_DIR/end
"""


def peak_mb(runnel, pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def test_large_metrics_files_take_little_memory_and_hold_up_no_end(runnel):
    daemon = runnel.info()["daemon_pid"]
    before = peak_mb(runnel, daemon)
    job = runnel.up(WRITERS)
    assert runnel.wait(job)["status"] == "SUCCEEDED"
    after = peak_mb(runnel, daemon)
    assert runnel.info()["daemon_pid"] == daemon
    events = map(json.loads, runnel.run("events", job, "-o", "json").splitlines())
    told = [datetime.fromisoformat(event["time"]).timestamp() for event in events if event["type"] == "attempt.ended"]
    ended = [float(path.read_text()) for path in (runnel.home / "jobs" / job).rglob("end")]
    late = [at - end for at, end in zip(sorted(told), sorted(ended), strict=True)]
    print(f"{before:.0f} MB before, {after:.0f} MB after; told {['%.2f' % each for each in late]} s late")
    quiet = runnel.up("run: echo still answered")
    assert runnel.wait(quiet)["status"] == "SUCCEEDED"
    readers = [runnel.start("metrics", job, "-o", "json", stdout=subprocess.PIPE) for _ in range(2)]
    begun = time.monotonic()
    assert "still answered" in runnel.run("logs", quiet)
    waited = time.monotonic() - begun
    pages = [json.loads(reader.communicate(timeout=60)[0]) for reader in readers]
    assert runnel.run("show", job)
    asked = peak_mb(runnel, daemon)
    print(f"logs after {waited:.2f} s while metrics were read; {asked:.0f} MB at the most")
    for series in (each for page in pages for each in page["series"]):
        assert series["truncated"] and series["samples"][0]["step"] == 0
        assert series["samples"][-1] == {"step": 900000000, "values": {"loss": 0.125}}
    assert [len(page["series"]) for page in pages] == [TASKS, TASKS]
    assert waited < ANSWERED_S
    assert max(after, asked) - before < LIMIT_MB
    assert max(late) < TOLD_S + BUSY_S
