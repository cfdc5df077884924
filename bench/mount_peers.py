"""Other mounts of the same bucket, as Debian has them (tools/setup.sh --bench), with their defaults unless said.

s3fs and rclone have one object per file; s3backer is a block device in objects of 128 KiB, with ext4 on it.
"""

import contextlib
import os
import shutil
import subprocess
import time

from store_lab import is_mounted, unmount

MOUNT_S = 30
BLOCKS = "128k"


class Peer:
    """`mounted(folder of plain objects)` gives the folder; seconds are told as of ours."""

    def __init__(self, lab):
        self.lab = lab
        self.place = lab.folder / self.name
        self.place.mkdir(exist_ok=True)
        # A bundle of authorities, which nobody here needs, ends rclone.
        self.env = {name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"}

    def prepare(self, name):
        """The plain objects are what it shows."""

    @contextlib.contextmanager
    def mounted(self, name):
        begin = time.monotonic()
        process = subprocess.Popen(self.command(name), env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not is_mounted(self.place):
                assert process.poll() is None and time.monotonic() < begin + MOUNT_S, f"{self.name} does not mount"
                time.sleep(0.002)
            yield self.place, time.monotonic() - begin
        finally:
            unmount(self.place)
            process.wait(timeout=MOUNT_S)


class S3fs(Peer):
    name = "s3fs"

    def command(self, name):
        keys = self.lab.folder / "s3fs-keys"
        keys.write_text(f"{self.lab.env['AWS_ACCESS_KEY_ID']}:{self.lab.env['AWS_SECRET_ACCESS_KEY']}\n")
        keys.chmod(0o600)
        options = [f"passwd_file={keys}", f"url={self.lab.env['AWS_ENDPOINT_URL']}", "endpoint=us-east-1", "ro",
                   "use_path_request_style", "parallel_count=8"]
        return ["s3fs", "-f", f"bkt:/plain/{name}", str(self.place), *(word for each in options for word in ("-o", each))]


class Rclone(Peer):
    name = "rclone"

    def command(self, name):
        given = {"TYPE": "s3", "PROVIDER": "Other", "ACCESS_KEY_ID": self.lab.env["AWS_ACCESS_KEY_ID"],
                 "SECRET_ACCESS_KEY": self.lab.env["AWS_SECRET_ACCESS_KEY"], "REGION": "us-east-1",
                 "ENDPOINT": self.lab.env["AWS_ENDPOINT_URL"]}
        self.env |= {f"RCLONE_CONFIG_LAB_{key}": value for key, value in given.items()}
        return ["rclone", "mount", f"lab:bkt/plain/{name}", str(self.place), "--read-only", "--config", "/dev/null",
                "--cache-dir", str(self.lab.folder / "rclone-cache")]


class S3backer(Peer):
    name = "s3backer"

    def __init__(self, lab):
        super().__init__(lab)
        self.blocks = lab.folder / "s3backer-blocks"
        self.blocks.mkdir(exist_ok=True)

    def command(self, name):
        keys = [f"--accessId={self.lab.env['AWS_ACCESS_KEY_ID']}", f"--accessKey={self.lab.env['AWS_SECRET_ACCESS_KEY']}"]
        return ["s3backer", "-f", *keys, f"--baseURL={self.lab.env['AWS_ENDPOINT_URL']}/", f"--blockSize={BLOCKS}",
                "--size=256m", "--listBlocks", f"--prefix=blocks-{name}/", "--force", "bkt", str(self.blocks)]

    @contextlib.contextmanager
    def block_device(self, name):
        process = subprocess.Popen(self.command(name), env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + MOUNT_S
        try:
            while not is_mounted(self.blocks):
                assert process.poll() is None and time.monotonic() < end, "s3backer does not mount"
                time.sleep(0.002)
            yield self.blocks / "file"
        finally:
            unmount(self.blocks)
            process.wait(timeout=MOUNT_S)

    def prepare(self, name):
        with self.block_device(name) as device:
            subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "nodiscard", device], check=True)
            subprocess.run(["mount", "-o", "loop", device, self.place], check=True)
            try:
                shutil.copytree(self.lab.bucket / "plain" / name, self.place, dirs_exist_ok=True)
            finally:
                unmount(self.place)

    @contextlib.contextmanager
    def mounted(self, name):
        begin = time.monotonic()
        with self.block_device(name) as device:
            subprocess.run(["mount", "-o", "loop,ro,noload", device, self.place], check=True)
            try:
                yield self.place, time.monotonic() - begin
            finally:
                unmount(self.place)


def peers_here(lab):
    """Those that are installed; who is not is named."""
    found = []
    for kind in (S3fs, Rclone, S3backer):
        if shutil.which(kind.name):
            found.append(kind(lab))
        else:
            print(f"{kind.name}: not measured, not installed (tools/setup.sh --bench)")
    return found
