"""Reports and checkpoints that the end of a program does not cut in two."""

import contextlib
import os
import signal
import threading
import weakref
from collections.abc import Iterator
from types import FrameType


# Those that programs handle, a timeout by an alarm above all.
_HANDLED = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGCHLD,
            signal.SIGUSR1, signal.SIGUSR2}


class _Block:
    """A block of `saving()`: open for as long as somebody has it, since an exception may skip its end."""


class _Handler:
    """The handler of SIGTERM that a block has put in place of the one before it."""

    def __init__(self, before: object) -> None:
        self.before = before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _request.blocks or signal.getsignal(signal.SIGTERM) is self:
            _request.take()
        elif callable(self.before):  # The program's own handler, put in a block, calls what it found there.
            self.before(number, frame)
        elif self.before == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)


class _Request:
    """Keeps, while blocks are open, that the process was asked to end."""

    def __init__(self) -> None:
        self.blocks: weakref.WeakSet[_Block] = weakref.WeakSet()  # May overlap: coroutines are in several at a time.
        self.is_pending = False

    def take(self) -> None:
        self.is_pending = True
        self.close()

    def open(self, block: _Block) -> None:
        self.blocks.add(block)
        before = signal.getsignal(signal.SIGTERM)
        if not isinstance(before, _Handler):
            signal.signal(signal.SIGTERM, _Handler(before))

    def close(self, *ended: _Block) -> None:
        # A handler that raised in between would leave half of it, and Python drops a SIGTERM that comes while it puts
        # the default action back.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
            for block in ended:
                self.blocks.discard(block)
            if not self.blocks:
                self._hand_on()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _hand_on(self) -> None:
        handler = signal.getsignal(signal.SIGTERM)
        if isinstance(handler, _Handler):  # Else the program has put its own in the block.
            signal.signal(signal.SIGTERM, handler.before)
        if self.is_pending:
            # To this thread, where it comes once signals do again.
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
            self.is_pending = False

    def forget(self) -> None:
        self.blocks.clear()
        self.is_pending = False
        self.close()


_request = _Request()
_forking = threading.local()  # The signals that the thread had blocked before it forked.


# A process that is forked in a block is in none. What comes while it is made waits, since Python forgets in a new
# process what its handlers have not been told of yet.
def _before_fork() -> None:
    _forking.blocked = None  # Another signal's handler may raise in the calls below.
    _forking.blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    if _request.blocks:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _restore_blocked() -> None:
    if _forking.blocked is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _forking.blocked)


def _after_fork_in_child() -> None:
    _request.forget()
    _restore_blocked()


os.register_at_fork(before=_before_fork, after_in_parent=_restore_blocked, after_in_child=_after_fork_in_child)


@contextlib.contextmanager
def saving() -> Iterator[None]:
    """What is reported and saved inside is done before a request to end (SIGTERM) counts.

        with runnel.saving():
            runnel.report(step=epoch, loss=loss)
            torch.save(state, path)

    A search that pauses a trial asks it to end just after a report, so that the request would often meet the save of
    that very step. Who is asked has the step's `grace` (30s), or the notice of a node that is taken away where that is
    shorter, until it is killed; a file that is replaced by another (`os.replace`) is whole even then.
    SIGTERM comes after the block, or the last of several that overlap, as it would have come before: to the program's
    own handler, where it has one. What asyncio's `add_signal_handler` was given is called at once, and again after
    the block. A process that is forked in the block is in none: it ends as it would have.
    Threads: the main thread, since only that may handle signals; in others the block is run as it is.
    """
    # A handler that is not Python's own cannot be put back.
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is None:
        yield
        return
    block = _Block()
    try:
        _request.open(block)
        yield
    finally:
        try:
            _request.close(block)
        except BaseException:  # Of a handler, maybe before the block was closed.
            _request.close(block)
            raise
