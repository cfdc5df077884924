"""A home to measure: its own folder and daemon, and what can be asked of them."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNNEL = ROOT / ".venv/bin/runnel"


class Home:
    """A home whose daemon is up; both are gone at the end."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="runnel-bench."))
        self.path = self.folder / "home"
        self.env = dict(os.environ, RUNNEL_HOME=str(self.path))
        self.call("home")
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, *words):
        return subprocess.run([RUNNEL, *words], check=True, capture_output=True, text=True, env=self.env).stdout

    def seconds(self, *words):
        """How long one command takes, its process included."""
        begin = time.monotonic()
        self.call(*words)
        return time.monotonic() - begin

    def pids(self):
        info = json.loads(self.call("home", "-o", "json"))
        return [pid for pid in (info["daemon_pid"], info["runner_pid"]) if pid]

    def stop(self):
        """Ends daemon and runner, and returns when they are gone."""
        pids = self.pids()
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        while any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids):
            time.sleep(0.005)

    def daemon_megabytes(self):
        """The most memory the daemon has had, in MB."""
        status = pathlib.Path(f"/proc/{self.pids()[0]}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1000

    def submit(self, count, line):
        """Accepts a job of `count` tasks; returns its id and the seconds that took."""
        job = self.folder / "job.yaml"
        job.write_text(f"params: {{n: {{range: [1, {count}]}}}}\nresources: {{cpus: 1}}\n{line}\n")
        begin = time.monotonic()
        name = self.call("up", "-f", str(job), "-o", "name").strip()
        return name, time.monotonic() - begin

    def rate(self, count, line):
        """Tasks per second from submission to the end of the job, all durable."""
        begin = time.monotonic()
        name, _ = self.submit(count, line)
        self.call("wait", name)
        took = time.monotonic() - begin
        document = json.loads(self.call("show", name, "-o", "json"))
        assert document["status"] == "SUCCEEDED", document
        return count / took
