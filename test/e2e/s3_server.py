"""An S3 server of its own for one test: versitygw over a folder, on a port of the loopback."""

import os
import pathlib
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / ".venv/versitygw/versitygw-v1.8.0"


class S3Server:
    """`start()` begins it, again on the same port after `kill()`; `stop()` ends it. Objects lie as files in `bucket`."""

    def __init__(self, folder):
        assert PROGRAM.exists(), f"{PROGRAM} is missing: run tools/setup.sh --tests"
        self.bucket = folder / "objects" / "bkt"
        self.notes = folder / "notes"  # What a disk keeps in extended attributes; in memory not every kernel has them.
        self.bucket.mkdir(parents=True)
        self.notes.mkdir()
        self.port = free_port()
        self.env = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "key-of-tests",
            "AWS_SECRET_ACCESS_KEY": "secret-of-tests",
            "AWS_REGION": "us-east-1",
        }
        self.process = None

    def start(self):
        keys = {"ROOT_ACCESS_KEY": self.env["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": self.env["AWS_SECRET_ACCESS_KEY"]}
        # Keeps connections, as stores do; without the option it ends each after one answer.
        command = [PROGRAM, "--port", f"127.0.0.1:{self.port}", "--region", "us-east-1", "--quiet", "--keep-alive"]
        # With notes in files of their own it reads an object and its ETag one after another, and loses a swap in a thousand.
        notes = [] if has_attributes(self.bucket) else ["--sidecar", self.notes]
        command += ["posix", *notes, self.bucket.parent]
        self.process = subprocess.Popen(command, env={**os.environ, **keys}, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            assert self.process.poll() is None, "the S3 server ended at once"
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.02)
        raise AssertionError("the S3 server does not answer")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def has_attributes(folder):
    try:
        os.setxattr(folder, "user.runnel", b"1")
    except OSError:
        return False
    os.removexattr(folder, "user.runnel")
    return True


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
