"""Reports and checkpoints that the end of a program does not cut in two."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class _Held:
    """The handler of SIGTERM in a block: keeps that the process was asked to end."""

    def __init__(self) -> None:
        self.before = signal.getsignal(signal.SIGTERM)
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def end(self) -> None:
        signal.signal(signal.SIGTERM, self.before)


_blocks: list[_Held] = []  # Those that the main thread is in, the outermost first.


# A process that is forked in a block is in none. What comes while it is made waits, since Python forgets in a new
# process what its handlers have not been told of yet.
def _before_fork() -> None:
    if _blocks:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _after_fork_in_parent() -> None:
    if _blocks:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _after_fork_in_child() -> None:
    if _blocks:
        _blocks[0].end()
        _blocks.clear()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


@contextlib.contextmanager
def saving() -> Iterator[None]:
    """What is reported and saved inside is done before a request to end (SIGTERM) counts.

        with runnel.saving():
            runnel.report(step=epoch, loss=loss)
            torch.save(state, path)

    A search that pauses a trial asks it to end just after a report, so that the request would often meet the save of
    that very step. Who is asked has the step's `grace` (30s) until it is killed; a file that is replaced by another
    (`os.replace`) is whole even then.
    SIGTERM comes after the block as it would have come before: to the program's own handler, where it has one. A
    process that is forked in the block is in none: it ends as it would have.
    Threads: the main thread, since only that may handle signals; in others the block is run as it is.
    """
    # A handler that is not Python's own cannot be put back.
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is None:
        yield
        return
    held = _Held()
    _blocks.append(held)
    signal.signal(signal.SIGTERM, held)
    try:
        yield
    finally:
        if held in _blocks:  # Else this is a process that was forked in the block.
            held.end()
            _blocks.remove(held)
            if held.asked:
                os.kill(os.getpid(), signal.SIGTERM)
