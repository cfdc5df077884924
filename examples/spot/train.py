"""Trains a small network step by step; whatever happens to it, the result is that of one unbroken run.

A checkpoint holds the weights, the optimizer's state and the position in the data. SIGTERM is the notice that the
machine goes away: it saves at once and ends. A step that was lost is computed again from the same numbers.
"""

import argparse
import os
import pathlib
import signal
import sys
import time

import torch

WARNED = False


def warn(*_):
    global WARNED
    WARNED = True


def save(path, step, model, optimizer):
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{path}.new")
    os.replace(f"{path}.new", path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--pace", type=float, default=0.01, help="seconds that a step takes at least")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, warn)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    path = pathlib.Path(os.environ["RUNNEL_CHECKPOINT_DIR"], "state.pt")
    first = 0
    if "RUNNEL_RESUME_FROM" in os.environ and path.exists():
        state = torch.load(path)
        first = state["step"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    print(f"begins at step {first}", flush=True)
    for step in range(first, given.steps):
        numbers = torch.Generator().manual_seed(step)  # The data of a step are the same in every attempt.
        x = torch.randn(32, 16, generator=numbers)
        loss = (model(x) - x.sin().sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(given.pace)
        if WARNED:
            save(path, step + 1, model, optimizer)
            print(f"told to go after step {step + 1}", flush=True)
            sys.exit(128 + signal.SIGTERM)
        if (step + 1) % given.save_every == 0:
            save(path, step + 1, model, optimizer)
            print(f"saved step {step + 1}", flush=True)
    print(f"final loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
