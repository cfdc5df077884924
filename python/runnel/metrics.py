"""What a task says of its training: `report()`, and what it was told: `params()`."""

import json
import math
import os
import time
from typing import SupportsFloat


def report(step: int | None = None, **metrics: SupportsFloat) -> bool:
    """Appends one line to $RUNNEL_METRICS_FILE, from which searches, `runnel metrics` and the UI read.

    step: the step of the training, 0 or more and growing; the one after the last when left out.
    metrics: numbers by name; tensors and numpy scalars are taken too. A loss that is NaN or infinite is
        reported as such.

    Only rank 0 of a gang reports, so that every rank may call this; the others do where the step has `health`,
    for which `step_seconds=` is the rank's own work of the step, without waiting for other ranks. Outside of
    Runnel nothing happens.
    Returns whether the line was written. Raises TypeError for a value that is no number, ValueError for a
    step that is negative or no whole number, OSError when the disk is full. Threads: any; lines do not mix.
    """
    if not metrics:
        raise TypeError("report() needs at least one metric, such as report(step=3, loss=0.1)")
    if step is not None and step < 0:
        raise ValueError(f"step is {step}; it must be 0 or more")
    if step is not None and step != int(step):
        raise ValueError(f"step is {step}; it must be a whole number: count batches or epochs")
    line = {name: _number(name, value) for name, value in metrics.items()}
    path = os.environ.get("RUNNEL_METRICS_FILE")
    rank = _reporting_rank()
    if not path or rank is None:
        return False
    if rank > 0:
        line["from_rank"] = rank
    if step is not None:
        line["step"] = int(step)
    line["ts"] = round(time.time(), 3)
    data = (json.dumps(line) + "\n").encode()
    # One write to a file that is only added to: lines of several processes do not mix.
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        while data:  # A disk that is nearly full takes a part, and refuses the rest.
            data = data[os.write(file, data):]
    finally:
        os.close(file)
    return True


def params() -> dict:
    """The task's parameters by name, from RUNNEL_TRIAL_PARAMS; empty outside of Runnel."""
    return json.loads(os.environ.get("RUNNEL_TRIAL_PARAMS", "{}"))


def _reporting_rank() -> int | None:
    """As which rank of the gang this process reports, if it does."""
    if os.environ.get("RANK", "0") == "0":
        return 0
    if os.environ.get("RUNNEL_REPORT_RANKS") != "all":
        return None
    # What torchrun starts has ranks of its own; those of the gang are what torchrun takes for nodes.
    rank = os.environ.get("PET_NODE_RANK", os.environ["RANK"])
    return int(rank) if rank.isdecimal() and rank != "0" else None


def _number(name: str, value: SupportsFloat) -> float | int | str:
    if name in ("step", "ts", "rank", "from_rank"):
        raise TypeError(f"'{name}' cannot be the name of a metric")
    if isinstance(value, bool) or isinstance(value, str):
        raise TypeError(f"metric '{name}' is {value!r}; it must be a number")
    if isinstance(value, int):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"metric '{name}' is {value!r}; it must be a number") from error
    if math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else ("inf" if number > 0 else "-inf")
