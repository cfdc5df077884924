"""One home per test, and the hands to drive the real binary in it.

A test that leaves a process, a socket or a temporary file of its home behind fails.
"""

import fcntl
import functools
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from schema import Schemas

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("RUNNEL_BINARY", ROOT / ".venv/bin/runnel")).absolute()

# A job's work takes whatever the machine gives it, which may be a tenth of what it has; what a job waits for in a
# test must therefore be longer. Limits of what the product promises are each test's own.
JOB_ENDS_S = 600

# No turn of a daemon's loop may take longer: each test looks for the line that the daemon then writes.
TURN_MAX = "20ms"
SLOW_TURN_MAX = "300ms"  # For an instrumented binary: 60 ms for a page of output that takes the product under 2.


def pytest_collection_modifyitems(items):
    """No process is left alone with a long test at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def kill(pid, by=signal.SIGKILL):
    """Sends a signal to a process, if it is still there. None: its pid is not known, which is no process.

    0 and negative numbers are groups, with -1 everything on the machine: an AssertionError.
    """
    if pid is None:
        return
    assert pid > 0, f"{pid} is no process"
    try:
        os.kill(pid, by)
    except ProcessLookupError:
        pass


class Connection(http.client.HTTPConnection):
    """To a home daemon, over its socket."""

    def __init__(self, path, timeout=None):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


@functools.cache
def schemas():
    """What /openapi.json of this build says of its answers."""
    with tempfile.TemporaryDirectory(prefix="runnel-schemas-") as folder:
        made = Runnel(pathlib.Path(folder))
        made.run("home")
        connection = Connection(made.home / "daemon.sock", timeout=30)
        try:
            connection.request("GET", "/openapi.json")
            found = Schemas(json.loads(connection.getresponse().read()))
            connection.request("POST", "/api/v1/home:stop")
            connection.getresponse().read()
        finally:
            connection.close()
        made.rest()
    return found


class Runnel:
    def __init__(self, folder, answers=None):
        """`answers`: where what the daemon answers is written down, by its loop; beside the home unless given."""
        self.answers = answers or folder / "answers.jsonl"
        self.home = folder / "home"
        self.work = folder / "work"
        self.work.mkdir()
        self.binary = BINARY
        self.env = dict(os.environ, RUNNEL_HOME=str(self.home))
        for name in list(self.env):
            if name.startswith("RUNNEL_") and name != "RUNNEL_HOME":
                del self.env[name]
        self.env["RUNNEL_TURN_MAX"] = SLOW_TURN_MAX if "asan" in BINARY.parts else TURN_MAX
        self.env["RUNNEL_ANSWERS"] = str(self.answers)

    def use_python_of_the_project(self):
        """Lets `python3` in a job be the one that has the packages of the examples."""
        self.env["PATH"] = f"{ROOT / '.venv/bin'}:{self.env['PATH']}"

    def start(self, *words, **options):
        options.setdefault("cwd", self.work)
        options.setdefault("env", self.env)
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.Popen([self.binary, *map(str, words)], stderr=subprocess.PIPE, text=True, **options)

    def run(self, *words, code=0, timeout=120, **options):
        process = self.start(*words, **options)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"runnel {words} hangs\n{out}\n{err}\n{self.daemon_log()}") from None
        if code is not None:
            assert process.returncode == code, f"runnel {words}: {process.returncode}\n{out}\n{err}\n{self.daemon_log()}"
        self.err = err
        self.code = process.returncode
        return out

    def json(self, *words, **options):
        return json.loads(self.run(*words, "-o", "json", **options))

    def file(self, text, name="job.yaml"):
        path = self.work / name
        path.write_text(text)
        return path

    def up(self, text, **options):
        return self.json("up", "-f", self.file(text), **options)["id"]

    def job(self, job):
        """What the daemon says of a job, asked over its socket: a process a look would take a fifth of a core.

        The command is asked where no daemon answers or the job is not known by this id: it starts one, or says why not.
        """
        connection = Connection(self.home / "daemon.sock", timeout=5)
        try:
            connection.request("GET", f"/api/v1/jobs/{job}")
            answer = connection.getresponse()
            text = answer.read()
            return json.loads(text) if answer.status == 200 else self.json("show", job)
        except (OSError, http.client.HTTPException):
            return self.json("show", job)
        finally:
            connection.close()

    def wait(self, job):
        end = time.monotonic() + JOB_ENDS_S
        while time.monotonic() < end:
            document = self.job(job)
            if document["status"] in ("SUCCEEDED", "FAILED", "CANCELLED"):
                return document
            time.sleep(0.05)
        raise AssertionError(f"{job} does not end: {document}\n{self.run('explain', job)}\n{self.daemon_log()}")

    def ended(self, text):
        """The id of a job that has run well."""
        job = self.up(text)
        assert self.wait(job)["status"] == "SUCCEEDED"
        return job

    def rest(self):
        """Waits until the daemon has ended by itself, in order."""
        self.until(lambda: not self.pids(), timeout=60)

    def kill(self):
        """Ends daemon, runner and tasks as a power loss would, without a last word."""

        def all_are_gone():
            found = self.pids()
            for pid in found:  # The next time what one of them has just begun.
                kill(pid)
            return not found and self.lock_is_free()

        self.until(all_are_gone)

    def lock_is_free(self):
        """A killed process may keep its files a moment longer than its place in the list of processes."""
        with open(self.home / "daemon.lock", "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    def until(self, truth, timeout=30):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            value = truth()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError("it did not become true: " + self.daemon_log())

    def pids(self):
        """Processes that belong to this home: daemon, runner and tasks."""
        found = []
        marks = (f"RUNNEL_HOME={self.home}".encode(), str(self.home).encode())
        for folder in pathlib.Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                text = (folder / "cmdline").read_bytes()
                if not text:
                    continue  # A zombie, or a thread of the kernel.
                text += (folder / "environ").read_bytes()
            except OSError:
                continue
            if any(mark in text for mark in marks):
                found.append(int(folder.name))
        return found

    def daemon_log(self):
        path = self.home / "daemon.log"
        return path.read_text()[-4000:] if path.exists() else "(no daemon log)"

    def info(self):
        return self.json("home")

    def left_over(self):
        """Sockets and unfinished files in the home."""
        tasks_own = self.home / "jobs"  # What a task was writing when it was ended is its own.
        found = [pathlib.Path(folder, name) for folder, _, names in os.walk(self.home) for name in names]
        return [str(path) for path in found
                if path.is_socket() or ".tmp-" in path.name
                or (path.suffix == ".new" and tasks_own not in path.parents)]

    def end_idle_daemon(self):
        """Ends the daemon, if there is one, as it ends by itself 2 s after the last visit: with nothing unfinished."""
        connection = Connection(self.home / "daemon.sock", timeout=5)

        def ask(method, path):
            connection.request(method, path)
            return json.loads(connection.getresponse().read())

        try:
            self.until(lambda: not ask("GET", "/api/v1/home")["unfinished"], timeout=40)
            ask("POST", "/api/v1/home:stop")
        except (OSError, http.client.HTTPException):
            pass  # It has ended already.
        finally:
            connection.close()

    def faults_of_answers(self):
        """What the daemon of this build answered otherwise than it describes, whoever asked."""
        if self.binary != BINARY or not self.answers.exists():
            return []
        lines = self.answers.read_bytes().split(b"\n")[:-1]  # A killed daemon may not have ended its last one.
        faults = (schemas().fault_of(json.loads(line)) for line in lines if line)
        return [fault for fault in faults if fault]

    def processes(self):
        """What each of pids() is and does, for the message of a test that finds one too many."""
        lines = []
        for pid in self.pids():
            folder = pathlib.Path("/proc", str(pid))
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                threads = [f"{(thread / 'comm').read_text().strip()} in {(thread / 'wchan').read_text()}"
                           for thread in (folder / "task").iterdir()]
                lines.append(f"{pid}: {words}: {', '.join(threads)}")
            except OSError:
                pass
        return "\n".join(lines)

    def end_unused_mounts(self):
        """Takes away what jobs have read volumes by, which stays for half a minute for the next of them."""
        folders = [folder for folder in self.home.glob("mounts/*/tree") if os.path.ismount(folder)]
        if folders:
            self.run("volume", "umount", *folders)

    def close(self):
        self.end_idle_daemon()
        self.end_unused_mounts()
        try:
            self.until(lambda: not self.pids(), timeout=40)
        except AssertionError as error:
            raise AssertionError(f"processes were left behind:\n{self.processes()}\n{error}") from None
        assert not self.left_over()
        assert not self.faults_of_answers()
        assert "its loop answered nobody" not in self.daemon_log(), self.daemon_log()


@pytest.fixture
def runnel(tmp_path):
    made = Runnel(tmp_path)
    try:
        yield made
        made.close()
    finally:
        for pid in made.pids():
            kill(pid)
