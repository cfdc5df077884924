"""The service as Python sees it: documents of jobs and what their tasks reported."""

import errno
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
from urllib.parse import quote


TIMEOUT_S = 60
# How long a daemon that is not there is waited for; it is back in well under a second.
PATIENCE_S = 30


class ServiceError(RuntimeError):
    """The service refused: `status` is that of HTTP, the text is its sentence with the remedy."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = status


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str):
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "no daemon serves here; any `runnel` command starts one", self._path) from None


def _socket_path() -> str:
    api = os.environ.get("RUNNEL_API", "")
    if api.startswith("unix:"):
        return api.removeprefix("unix:")
    if api:
        raise ValueError(f"RUNNEL_API is {api!r}; this version speaks unix:PATH only")
    home = os.environ.get("RUNNEL_HOME") or pathlib.Path.home() / ".runnel"
    return str(pathlib.Path(home) / "daemon.sock")


def _program() -> str | None:
    beside = pathlib.Path(sys.executable).with_name("runnel")
    return shutil.which("runnel") or (str(beside) if beside.exists() else None)


def _start_daemon() -> None:
    """Any command does so; this one changes nothing else. Who serves $RUNNEL_API is not ours to start."""
    if os.environ.get("RUNNEL_API"):
        return
    if found := _program():
        subprocess.run([found, "home"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    elif not os.path.exists(_socket_path()):
        raise FileNotFoundError(errno.ENOENT, "no daemon serves this home, and `runnel`, which starts one, is not in PATH",
                                _socket_path())


def get(path: str) -> dict:
    """The document at `path` below /api/v1, such as "jobs" or "nodes".

    Inside of a task the service is $RUNNEL_API, elsewhere the daemon of $RUNNEL_HOME. Raises ServiceError
    when it refuses, ConnectionError or FileNotFoundError when it is not there (any `runnel` command starts it).
    """
    return _request("GET", path)


def call(method: str, path: str, body: bytes = b"", headers: dict | None = None) -> dict:
    """As get(), for requests that may be said again: a daemon that is not there, or dies before it answers, is
    started, and asked again, for PATIENCE_S."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return _request(method, path, body, headers)
        except (ConnectionError, FileNotFoundError, http.client.HTTPException):
            if time.monotonic() > end:
                raise
            _start_daemon()
            time.sleep(0.05)


def _request(method: str, path: str, body: bytes = b"", headers: dict | None = None) -> dict:
    connection = _UnixConnection(_socket_path())
    try:
        connection.request(method, f"/api/v1/{path}", body or None, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            problem = json.loads(text) if text.startswith("{") else {}
            said = [problem.get("detail") or text, problem.get("hint", "")]
            raise ServiceError(answer.status, "; ".join(part for part in said if part))
        return json.loads(text)
    finally:
        connection.close()


def job(id: str | None = None) -> dict:
    """A job's document: `status`, `steps` with their counts and best trials, `cost`. By default the job that this
    task belongs to. Raises as get() does, KeyError outside of a task without an id."""
    return get(f"jobs/{quote(id or os.environ['RUNNEL_JOB_ID'], safe='')}")


def reports(step: str | None = None, job: str | None = None) -> list[dict]:
    """What the tasks of a job reported, in the order of its steps and tasks: one {"step", "task", "samples"} each, a
    sample being {"step", "values"}. `step` names one step of the job; the job is this task's by default."""
    path = f"jobs/{quote(job or os.environ['RUNNEL_JOB_ID'], safe='')}/metrics?limit=1000"
    if step is not None:
        path += f"&step={quote(step, safe='')}"
    series = []
    token = ""
    while True:
        page = get(path + (f"&page_token={quote(token)}" if token else ""))
        series += page["series"]
        token = page.get("next_page_token", "")
        if not token:
            return series
