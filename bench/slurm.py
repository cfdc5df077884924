"""A Slurm of one node on this machine, for comparison: only root's jobs, only loopback."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

CONFIGURATION = """
ClusterName=bench
SlurmctldHost=localhost
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
MpiDefault=none
ReturnToService=2
MaxJobCount=50000
MaxArraySize=10001
SlurmdParameters=config_overrides
NodeName=bench NodeHostname=localhost NodeAddr=127.0.0.1 Port=17001 CPUs={slots} CoresPerSocket={slots} RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=bench Default=YES MaxTime=INFINITE State=UP
"""

# More than there are cores: Slurm starts as many tasks per round of its scheduler as there is room for,
# and with two it would do two a second.
SLOTS = 32
PATIENCE_S = 120


class Slurm:
    """Up inside the `with`; nothing of it is left afterwards."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="runnel-slurm."))
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(folder=self.folder, slots=SLOTS))
        self.env = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))
        subprocess.run(["slurmctld"], env=self.env, check=True, capture_output=True)
        subprocess.run(["slurmd", "-N", "bench"], env=self.env, check=True, capture_output=True)
        self.until(lambda: self.ask("sinfo", "-h", "-t", "idle", "-o", "%D") == "1")
        return self

    def __exit__(self, *_):
        for name in ("slurmd.pid", "slurmctld.pid"):
            file = self.folder / name
            if file.exists():
                os.kill(int(file.read_text()), 15)
        self.until(lambda: not any(self.folder.glob("*.pid")))
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, *words):
        """A client's answer; every one of them may hang for minutes when the controller is away."""
        return subprocess.run(["timeout", "20", *words], env=self.env, capture_output=True, text=True).stdout.strip()

    def until(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(f"slurm did not get there in {PATIENCE_S} s; see {self.folder}")
            time.sleep(0.02)

    def array_seconds(self, count):
        """From the submission of an array of `count` tasks of /bin/true to the end of the last."""
        begin = time.monotonic()
        self.ask("sbatch", "-o", "/dev/null", f"--array=0-{count - 1}", "--wrap", "/bin/true")
        self.until(lambda: self.ask("squeue", "-h", "-r", "-t", "PD,R,CG", "-o", "%i") == "")
        return time.monotonic() - begin
