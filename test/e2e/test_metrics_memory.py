"""What tasks report is read in bounded memory, whatever they write."""

import json
import pathlib
from datetime import datetime

TASKS = 3
FILE_MB = 300
LIMIT_MB = 32  # What the daemon may take for them.
TOLD_S = 1
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
    assert runnel.wait(job, timeout=120)["status"] == "SUCCEEDED"
    after = peak_mb(runnel, daemon)
    assert runnel.info()["daemon_pid"] == daemon
    events = map(json.loads, runnel.run("events", job, "-o", "json").splitlines())
    told = [datetime.fromisoformat(event["time"]).timestamp() for event in events if event["type"] == "attempt.ended"]
    ended = [float(path.read_text()) for path in (runnel.home / "jobs" / job).rglob("end")]
    late = [at - end for at, end in zip(sorted(told), sorted(ended), strict=True)]
    print(f"{before:.0f} MB before, {after:.0f} MB after; told {['%.2f' % each for each in late]} s late")
    assert after - before < LIMIT_MB
    assert max(late) < TOLD_S + BUSY_S
