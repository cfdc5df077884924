"""Random damages to the files of a home that ended in order or was killed: nothing of a user's goes, nothing wrong is
served, and what matters is named. RUNNEL_DAMAGES says how many; a failure names the seed that makes it again alone:
RUNNEL_DAMAGE_SEED=17 pytest test/e2e/test_fuzz_home.py."""

import collections
import fcntl
import json
import os
import random
import shutil
import tarfile

import pytest
from conftest import Runnel
from test_archive import run_trivial_jobs

DAMAGES = int(os.environ.get("RUNNEL_DAMAGES", "60"))
ONE_SEED = os.environ.get("RUNNEL_DAMAGE_SEED")
CHUNKS = max(6, DAMAGES // 20)
LATER_JOBS = 1_050  # The state keeps 1,000 ended ones; older ones are in the archive.
SEEDS = [[int(ONE_SEED)]] if ONE_SEED else [range(chunk, DAMAGES, CHUNKS) for chunk in range(CHUNKS)]
KINDS = {"clean": 40, "killed": 35, "unfinished": 15, "archived": 10}  # In a hundred homes.
JOB = "name: {name}\nrun: |\n  echo weights of {name} > $RUNNEL_JOB_DIR/model.bin\n  echo {name} said so\n"
LOG = ("log", "log-wal", "log-head")
WAITING = "name: waiting\nrun: |\n  while [ ! -e {go} ]; do sleep 0.05; done\n  echo waiting said so\n"


class Template:
    """A home as it was left, to be unpacked again and again, with an older copy of its log.

    Made once for all workers of a run, since it takes a thousand jobs: whoever comes first makes it, and the others
    wait. A home may be unpacked anywhere. Where it was made there is none afterwards, or the others would be its copies.
    """

    def __init__(self, folder):
        self.file = folder / "home.tar"
        self.older = folder / "older"
        about = json.loads((folder / "about.json").read_text())
        self.jobs = about["jobs"]
        self.unfinished = about["unfinished"]
        self.later = about["later"]

    @staticmethod
    def of(kind, templates):
        folder = templates / kind
        with open(templates / f"{kind}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "about.json").exists():
                shutil.rmtree(folder, ignore_errors=True)  # Of one that did not come to its end.
                folder.mkdir()
                make_template(Runnel(folder), kind, folder)
        return Template(folder)

    def unpack(self, runnel):
        with tarfile.open(self.file) as tar:
            tar.extractall(runnel.home.parent)


def make_template(runnel, kind, folder):
    unfinished = {}
    later = 0
    jobs = {runnel.ended(JOB.format(name="one")): "one"}
    runnel.rest()
    shutil.copy(runnel.home / "log", folder / "older")
    jobs[runnel.ended(JOB.format(name="two"))] = "two"
    runnel.run("delete", runnel.ended(JOB.format(name="deleted")))
    jobs[runnel.ended(JOB.format(name="three"))] = "three"
    if kind == "archived":
        runnel.run("nodes")
        later = run_trivial_jobs(runnel.home, LATER_JOBS)
        runnel.until(lambda: not runnel.json("ps")["jobs"], timeout=120)
    if kind == "unfinished":
        job = runnel.up(WAITING.format(go=folder / "go"))
        runnel.until(lambda: runnel.job(job)["status"] == "RUNNING")
        unfinished[job] = "waiting"
    if kind == "clean":
        runnel.rest()
    else:
        runnel.kill()
    (folder / "go").touch()  # What was unfinished ends when it is tried again.
    for name in ("daemon.sock", "runner/sock"):
        (runnel.home / name).unlink(missing_ok=True)
    with tarfile.open(folder / "home.tar", "w") as tar:
        tar.add(runnel.home, "home")
    shutil.rmtree(runnel.home)
    (folder / "about.json").write_text(json.dumps({"jobs": jobs, "unfinished": unfinished, "later": later}))


class Damage:
    def __init__(self, runnel, template, dice):
        self.home = runnel.home
        everything = sorted(path for path in self.home.rglob("*") if path.is_file() and path.name != "model.bin")
        logs = [path for path in everything if path.name in LOG]
        self.kind = dice.choice(["flip", "cut", "empty", "delete", "garble", "older", "no-wal"])
        self.path = dice.choice(logs if dice.random() < 0.6 else everything)
        if self.kind in ("older", "no-wal"):
            self.path = self.home / "log"
        getattr(self, self.kind.replace("-", "_"))(dice, template)

    def __str__(self):
        return f"{self.kind} of {self.path.relative_to(self.home)}"

    def flip(self, dice, _):
        data = bytearray(self.path.read_bytes())
        for _ in range(dice.randint(1, 8) if data else 0):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        self.path.write_bytes(data)

    def cut(self, dice, _):
        os.truncate(self.path, dice.randrange(self.path.stat().st_size + 1))

    def empty(self, _dice, _):
        os.truncate(self.path, 0)

    def delete(self, _dice, _):
        self.path.unlink()

    def garble(self, dice, _):
        data = bytearray(self.path.read_bytes())
        at = dice.randrange(len(data) + 1)
        data[at:at + dice.randint(1, 4096)] = dice.randbytes(min(dice.randint(1, 4096), len(data) - at + 1))
        self.path.write_bytes(data)

    def older(self, _dice, template):
        shutil.copy(template.older, self.path)
        (self.home / "log-wal").unlink(missing_ok=True)

    def no_wal(self, _dice, _):
        (self.home / "log-wal").unlink(missing_ok=True)


def models(runnel):
    return sorted(path.read_text() for path in runnel.home.rglob("model.bin"))


def ask(runnel, *words):
    """What a command says: its code, output, and words to a person. It never hangs and never dies of a signal."""
    out = runnel.run(*words, code=None, timeout=90, errors="replace")
    process_code = runnel.code
    assert process_code in (0, 1, 2), f"{words}: {process_code} {runnel.err}"
    if process_code != 0:
        assert runnel.err.strip(), f"{words} fails without a word"
    return process_code, out, runnel.err


def is_another_identity(damage):
    """It reads like one: with it, the jobs of a home that was moved are another's."""
    return damage.path.name in ("identity", ".home.json") and damage.kind == "flip"


def check_answers(runnel, template, damage):
    """Either all that is listed is true and whole, or the command says what is wrong and what to do."""
    code, out, err = ask(runnel, "ps", "-a", "--limit", "2000", "-o", "json")
    if code != 0:
        assert "fsck" in err or "version" in err or (is_another_identity(damage) and "rm " in err), err
        return False
    listed = {job["id"]: (job["name"], job["status"]) for job in json.loads(out)["jobs"]}
    later = [job for job in listed if listed[job] == ("later", "SUCCEEDED")]
    assert len(later) == template.later, "archived jobs are missing"
    for job in later:
        del listed[job]
    for job, name in template.unfinished.items():
        assert listed.pop(job)[0] == name
    assert listed == {job: (name, "SUCCEEDED") for job, name in template.jobs.items()}, "wrong jobs are listed"
    for job, name in template.jobs.items():
        code, out, err = ask(runnel, "logs", job)
        said = f"{name} said so\n"
        if damage.path.suffix in (".out", ".err") and damage.kind in ("flip", "garble"):
            continue  # Output carries no checksum.
        assert out == said or (code == 1 and "damage: " in err), f"logs say {out!r}"
        assert said.startswith(out), f"logs say what nobody wrote: {out!r}"
    return True


def check_work(runnel):
    code, out, _ = ask(runnel, "run", "--name", "new", "--", "sh", "-c",
                       "echo weights of new > $RUNNEL_JOB_DIR/model.bin; echo new said so")
    assert code != 0 or "new said so\n" in out, out
    return code == 0


def check_damage(runnel, seed, templates):
    dice = random.Random(seed)
    kind = dice.choices(list(KINDS), KINDS.values())[0]
    template = Template.of(kind, templates)
    template.unpack(runnel)
    before = models(runnel)
    damage = Damage(runnel, template, dice)
    try:
        answered = check_answers(runnel, template, damage)
        new = ["weights of new\n"] if check_work(runnel) else []
        assert answered == bool(new)
        runnel.kill()
        sound, _, _ = ask(runnel, "fsck")
        assert answered or sound != 0, "fsck finds nothing wrong with what is refused"
        assert models(runnel) == sorted(before + new), "files of a user's are gone"
        if (damage.path.name == "version" or is_another_identity(damage)) and not answered:
            return  # Only its owner knows which build it was, or whose files they are.
        assert ask(runnel, "fsck", "--repair")[0] == 0, runnel.err
        assert ask(runnel, "fsck")[0] == 0, "repaired and not sound"
        assert ask(runnel, "ps", "-a")[0] == 0, runnel.err
        new += ["weights of new\n"] if check_work(runnel) else ["no work after a repair"]
        runnel.kill()  # Or folders move to lost+found while they are looked through.
        # A log that ends earlier may run a job again that was deleted later: then there is more.
        lost = collections.Counter(before + new) - collections.Counter(models(runnel))
        assert not lost, "files of a user's are gone after the repair"
    except AssertionError as error:
        raise AssertionError(f"RUNNEL_DAMAGE_SEED={seed}: {kind} home, {damage}: {error}\n{runnel.daemon_log()}") from None
    finally:
        runnel.kill()
        shutil.rmtree(runnel.home)


@pytest.mark.long
@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"from-{seeds[0]}")
def test_no_damage_loses_a_users_files_or_goes_unnamed(runnel, seeds, tmp_path_factory):
    of_this_worker = tmp_path_factory.getbasetemp()
    templates = of_this_worker.parent if "PYTEST_XDIST_WORKER" in os.environ else of_this_worker
    failures = []
    for seed in seeds:
        try:
            check_damage(runnel, seed, templates)
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, f"{len(failures)} of {len(seeds)}:\n" + "\n".join(failures)
