"""runnel.saving(): a program that is asked to end while it saves."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from conftest import ROOT

ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def run(source):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(source)], env=ENV, text=True, capture_output=True, timeout=60)


def test_a_request_to_end_waits_for_the_end_of_the_block():
    done = run("""
        import os, runnel, signal
        with runnel.saving():
            with runnel.saving():
                os.kill(os.getpid(), signal.SIGTERM)
            print("saved", flush=True)
        print("went on")
    """)
    assert done.stdout == "saved\n" and done.returncode == -signal.SIGTERM


def test_a_handler_of_the_program_gets_it_once():
    done = run("""
        import os, runnel, signal
        signal.signal(signal.SIGTERM, lambda *_: print("asked", flush=True))
        for _ in range(2):
            with runnel.saving():
                os.kill(os.getpid(), signal.SIGTERM)
                print("saved", flush=True)
        try:
            with runnel.saving():
                os.kill(os.getpid(), signal.SIGTERM)
                raise OSError("disk full")
        except OSError as error:
            print(error)
    """)
    assert done.stdout == "saved\nasked\nsaved\nasked\nasked\ndisk full\n", done.stderr
    assert done.returncode == 0


def test_what_is_forked_in_the_block_can_be_ended():
    done = run("""
        import multiprocessing, runnel, time
        context = multiprocessing.get_context("fork")
        with runnel.saving():
            with runnel.saving():
                child = context.Process(target=time.sleep, args=(100,), daemon=True)
                child.start()
        child.terminate()
        child.join(20)
        print(child.exitcode)
    """)
    assert done.stdout == "-15\n", done.stdout + done.stderr


def test_what_a_thread_forks_while_the_block_ends_can_be_ended():
    done = run("""
        import os, signal, threading, time
        forks, left = threading.Event(), threading.Event()
        def wait_for_the_end_of_the_block():
            forks.set()
            left.wait()
        os.register_at_fork(before=wait_for_the_end_of_the_block)  # The last that is registered is called first.
        import runnel
        def fork():
            child = os.fork()
            if child == 0:
                time.sleep(100)
            os.kill(child, signal.SIGTERM)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        thread = threading.Thread(target=fork)
        with runnel.saving():
            thread.start()
            forks.wait()
        left.set()
        thread.join()
    """)
    assert done.stdout == "-15\nset()\n", done.stdout + done.stderr


def test_a_fork_in_the_block_leaves_what_the_program_blocks():
    done = run("""
        import os, runnel, signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        with runnel.saving():
            if os.fork() == 0:
                os._exit(signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
            print(os.wait()[1], *signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    """)
    assert done.stdout == "0 15\n", done.stdout + done.stderr


def test_blocks_of_coroutines_overlap():
    done = run("""
        import asyncio, os, runnel, signal
        async def save(seconds):
            with runnel.saving():
                await asyncio.sleep(seconds)
                print("saved", flush=True)
        async def main():
            asyncio.get_running_loop().call_later(0.3, os.kill, os.getpid(), signal.SIGTERM)
            await asyncio.gather(save(0.1), save(0.6))
            print("went on")
        asyncio.run(main())
    """)
    assert done.stdout == "saved\nsaved\n" and done.returncode == -signal.SIGTERM, done.stderr


def test_a_handler_that_raises_in_any_place_leaves_no_block():
    done = run("""
        import os, runnel, signal
        class Timeout(Exception): pass
        def timeout(*_): raise Timeout
        signal.signal(signal.SIGALRM, timeout)
        raised = 0
        for round in range(3000):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + round % 100 * 1e-6)
                for _ in range(20):
                    with runnel.saving():
                        pass
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Timeout:
                raised += 1
        print(raised > 300, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        print("went on")
    """)
    assert done.stdout == "True\n" and done.returncode == -signal.SIGTERM, (done.stdout, done.stderr)


def test_a_handler_that_raises_at_the_end_of_a_block_loses_no_request():
    done = run("""
        import runnel, signal
        class Timeout(Exception): pass
        def timeout(*_): raise Timeout
        signal.signal(signal.SIGALRM, timeout)
        asked = {}
        signal.signal(signal.SIGTERM, asked.setdefault)  # Not Python's, so that no other handler runs within it.
        raised = lost = 0
        for round in range(6000):
            asked.clear()
            try:
                with runnel.saving():
                    signal.raise_signal(signal.SIGTERM)
                    signal.setitimer(signal.ITIMER_REAL, 1e-6 + round % 60 * 1e-6)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Timeout:
                raised += 1
            lost += not asked
        print(raised > 100, lost)
    """)
    assert done.stdout == "True 0\n", (done.stdout, done.stderr)


def test_a_handler_that_is_put_in_the_block_stays():
    done = run("""
        import os, runnel, signal
        with runnel.saving():
            os.kill(os.getpid(), signal.SIGTERM)
            signal.signal(signal.SIGTERM, lambda *_: print("asked"))
        os.kill(os.getpid(), signal.SIGTERM)
    """)
    assert done.stdout == "asked\nasked\n" and done.returncode == 0, done.stderr


def test_a_handler_that_is_put_in_the_block_may_call_the_one_before():
    done = run("""
        import os, runnel, signal
        with runnel.saving():
            before = signal.getsignal(signal.SIGTERM)
            def asked(*args):
                print("asked", flush=True)
                before(*args)
            signal.signal(signal.SIGTERM, asked)
        os.kill(os.getpid(), signal.SIGTERM)
        print("went on")
    """)
    assert done.stdout == "asked\n" and done.returncode == -signal.SIGTERM, done.stderr


@pytest.mark.parametrize("in_block", [True, False])
def test_later_blocks_keep_which_handler_was_before_which(in_block):
    done = run(f"""
        import os, runnel, signal
        signal.signal(signal.SIGTERM, lambda *_: print("first", flush=True))
        def put(name):
            before = signal.getsignal(signal.SIGTERM)
            def asked(*args):
                print(name, flush=True)
                before(*args)
            signal.signal(signal.SIGTERM, asked)
        for name in ("second", "third"):
            with runnel.saving():
                put(name)
        for epoch in range(3):
            with runnel.saving():
                if {in_block} and epoch == 2:
                    os.kill(os.getpid(), signal.SIGTERM)
                    print("saved", flush=True)
        if not {in_block}:
            os.kill(os.getpid(), signal.SIGTERM)
        print("went on")
    """)
    saved = "saved\n" if in_block else ""
    assert done.stdout == saved + "third\nsecond\nfirst\nwent on\n" and done.returncode == 0, done.stderr


def test_a_thread_saves_as_it_is():
    done = run("""
        import runnel, threading
        def save():
            with runnel.saving():
                print("saved")
        thread = threading.Thread(target=save)
        thread.start()
        thread.join()
    """)
    assert done.stdout == "saved\n", done.stderr


TRIAL = """
import os, pathlib, pickle, sys, time
import runnel

state = pathlib.Path(os.environ["RUNNEL_CHECKPOINT_DIR"], "state")
first = 0
if "RUNNEL_RESUME_FROM" in os.environ:
    with state.open("rb") as file:
        first = pickle.load(file)["step"]
with open(os.path.join(os.environ["RUNNEL_JOB_DIR"], "begins"), "a") as begins:
    begins.write(f"{os.environ['RUNNEL_TASK_INDEX']} {first}\\n")
for step in range(first, 8):
    with runnel.saving():
        runnel.report(step=step + 1, loss=float(sys.argv[1]) / (step + 1))
        with state.open("wb") as file:  # Not whole for a while.
            file.write(b"")
            file.flush()
            time.sleep(0.2)
            pickle.dump({"step": step + 1}, file)
"""


def test_a_trial_that_is_paused_loses_neither_its_checkpoint_nor_a_step(runnel):
    """Asked to end by each of its judged reports, in the middle of its save."""
    (runnel.work / "trial.py").write_text(TRIAL)
    out = runnel.run("run", runnel.file("""
        seed: 1
        params: {x: {uniform: [0, 1]}}
        search: {metric: loss, mode: min, max_trials: 8, pruner: {method: asha, min_step: 1, max_step: 8, eta: 2}}
        checkpoint: {dir: ckpt}
        resources: {cpus: 1}
        run: python3 trial.py {{x}}
    """), "-o", "json")
    job = json.loads(out.splitlines()[-1])["id"] if out else runnel.json("ps", "-a")["jobs"][0]["id"]
    tasks = runnel.json("show", job, "--tasks")["tasks"]
    assert {task["status"] for task in tasks} <= {"SUCCEEDED", "PRUNED"}, tasks
    begins = [line.split() for line in next(runnel.home.rglob("begins")).read_text().splitlines()]
    again = [int(step) for _, step in begins if int(step) > 0]
    assert len(begins) > 8 and again, "some were paused and went on"
    assert len(begins) == 8 + len(again), "none began at the beginning again"
