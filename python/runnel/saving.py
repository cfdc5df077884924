"""Reports and checkpoints that the end of a program does not cut in two."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def saving() -> Iterator[None]:
    """What is reported and saved inside is done before a request to end (SIGTERM) counts.

        with runnel.saving():
            runnel.report(step=epoch, loss=loss)
            torch.save(state, path)

    A search that pauses a trial asks it to end just after a report, so that the request would often meet the save of
    that very step. Who is asked has the step's `grace` (30s) until it is killed; a file that is replaced by another
    (`os.replace`) is whole even then.
    SIGTERM comes after the block as it would have come before: to the program's own handler, where it has one.
    Threads: the main thread, since only that may handle signals; in others the block is run as it is.
    """
    before = signal.getsignal(signal.SIGTERM)
    # A handler that is not Python's own cannot be put back.
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    asked = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if asked:
            os.kill(os.getpid(), signal.SIGTERM)
