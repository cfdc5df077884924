"""An S3 server with the proxy before it, and a home whose volumes are there."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

from home import ROOT, Home

sys.path.insert(0, str(ROOT / "test/e2e"))

from s3_server import S3Server  # noqa: E402  The server and the proxy are the tests'.
from store_proxy import StoreProxy  # noqa: E402

BIN = ROOT / "build/release/bin"
BUCKET = "s3://bkt"


class StoreLab:
    """`home` and all peers go through `proxy`. Objects are plain files below `bucket`, so that they can be laid there."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "s3").mkdir()
        self.server = S3Server(folder / "s3").start()
        self.proxy = StoreProxy(self.server.port)
        self.bucket = self.server.bucket
        self.env = dict(self.server.env, AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.proxy.port}")
        self.home = Home()

    def __enter__(self):
        self.home.__enter__()
        self.home.env.update(self.env)
        return self

    def __exit__(self, *error):
        self.home.__exit__(*error)
        self.proxy.stop()
        self.server.stop()

    # --- Volumes.

    def make_volume(self, name, source, *options):
        """Creates a volume and puts a folder; the seconds of the put."""
        self.home.call("volume", "create", name, "--store", f"{BUCKET}/volumes")
        return self.put(name, source, *options)

    def put(self, name, source, *options):
        return self.home.seconds("volume", "put", str(source), name, *options)

    @contextlib.contextmanager
    def mounted(self, name, *options):
        """The folder of a mount and the seconds that it took to be there."""
        folder = self.folder / "mnt"
        folder.mkdir(exist_ok=True)
        seconds = self.home.seconds("volume", "mount", "-d", name, str(folder), *options)
        try:
            yield folder, seconds
        finally:
            unmount(folder)
            while self.servers():
                time.sleep(0.005)

    def servers(self):
        """The processes that serve mounts of the home."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if b"serve" in words and str(self.home.path).encode() in words:
                    found.append(int(process.name))
        return found

    # --- Objects as they are.

    def lay(self, name, source):
        """A file or folder becomes plain objects."""
        target = self.bucket / "plain" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
        return target

    def gets(self, connections, how, *words):
        """Bare GETs of plain objects: seconds, bytes, sum."""
        command = [BIN / "range_gets", f"{BUCKET}/plain", connections, how, *words]
        return figures(command, {**os.environ, **self.env})


def figures(command, env=None):
    seconds, size, total = subprocess.check_output([str(word) for word in command], env=env, text=True).split()
    return float(seconds), int(size), total


def is_mounted(folder):
    return any(line.split()[4] == str(folder) for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


def unmount(folder):
    """Who has just read may still be on its way out."""
    for _ in range(100):
        if not is_mounted(folder):
            return
        if subprocess.run(["umount", folder], capture_output=True).returncode == 0:
            return
        time.sleep(0.02)
    subprocess.run(["umount", "--lazy", folder], check=True)


def memory_mb(pid, field):
    """VmRSS, or VmHWM for the most there was."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split(field + ":")[1].split()[0]) / 1000


def in_a_row(visits):
    """Of these requests the longest row in which each began after the one before had ended."""
    count, last = 0, float("-inf")
    for *_, begin, end in sorted(visits, key=lambda visit: visit[-1]):
        if begin >= last:
            count, last = count + 1, end
    return count
