"""Text pre-processing and batch inference at size: what a second worker and a kill among ten are worth.

usage: bench/workloads.py [--files N] [--pairs N] [--text | --inference]

Each case is one job whose steps run in turn, so that what is compared runs directly after each other:
- 100,000 text files become tokens by one worker, then by two, then by two of whom one in eight is killed; the digest
  of all tokens is that of the first run each time.
- 60 shards of images are classified by two workers, then again while one instance in ten is killed: each image once.
"""

import argparse
import json
import re
import statistics
from datetime import datetime

from home import ROOT, Home

EXAMPLES = ROOT / "examples"
SHARDS = 40


def step(name, after, lines):
    text = f"  {name}:\n" + (f"    depends_on: {after}\n" if after else "") + "    resources: {cpus: 1}\n"
    return text + "".join(f"    {line}\n" for line in lines)


def killed(condition, seconds, command):
    """The command, ended by SIGKILL after so long in the first attempt where the condition holds."""
    return (f'if [ "$RUNNEL_ATTEMPT" = 1 ] && {condition}; then exec timeout -s KILL {seconds} {command}; fi; '
            f"exec {command}")


def text_job(files, pairs):
    tokenise = f"python3 tokenise.py --shard {{{{item}}}} --shards {SHARDS}"
    digest = f"python3 digest.py --shards {SHARDS} --files {files}"
    shards = f"foreach: [{', '.join(map(str, range(SHARDS)))}]"
    steps, before = step("make", "", [f"run: python3 make.py --files {files}"]), "make"
    for pair in range(pairs):
        for kind, workers, command in (("one", 1, tokenise), ("two", 2, tokenise),
                                       ("killed", 2, killed("[ $(({{item}} % 8)) = 3 ]", 0.4, tokenise))):
            name = f"{kind}-{pair}"
            steps += step(name, before, [shards, f"parallel: {workers}", "retry: {max: 3}", f"run: '{command}'"])
            steps += step(f"digest-{name}", name, [f"run: {digest}"])
            before = f"digest-{name}"
    return f"name: text\nworkdir: {EXAMPLES / 'text'}\nsteps:\n{steps}"


MODEL = """python3 - <<'END'
      import numpy, torch
      from fashion import SHARED, network
      numpy.save(SHARED / "test-images.npy", numpy.random.default_rng(1).normal(size=(60_000, 1, 28, 28)).astype("f4"))
      torch.save({"model": network(32, 0.1).state_dict(), "width": 32, "dropout": 0.1}, SHARED / "model.pt")
      END"""
COUNT = """python3 - <<'END'
      import numpy
      from fashion import SHARED
      numbers = numpy.concatenate([numpy.load(path)[0] for path in SHARED.glob("predicted-*.npy")])
      print(len(numbers), "predictions of", len(set(numbers)), "images")
      for path in SHARED.glob("predicted-*.npy"): path.unlink()
      END"""


def inference_job(pairs, shards=60):
    infer = f"python3 infer.py --shard {{{{item}}}} --shards {shards}"
    every = f"foreach: [{', '.join(map(str, range(shards)))}]"
    steps, before = step("model", "", ["run: |", f"  {MODEL}"]), "model"
    for pair in range(pairs):
        for kind, command in (("calm", infer), ("killed", killed("[ $(({{item}} % 10)) = 3 ]", 1.5, infer))):
            name = f"{kind}-{pair}"
            steps += step(name, before, [every, "parallel: 2", "retry: {max: 3}", f"run: '{command}'"])
            steps += step(f"count-{name}", name, ["run: |", f"  {COUNT}"])
            before = f"count-{name}"
    return f"name: inference\nworkdir: {EXAMPLES / 'quickstart'}\nsteps:\n{steps}"


def run(home, text):
    """Seconds and attempts by step, and the whole log."""
    file = home.folder / "job.yaml"
    file.write_text(text)
    job = json.loads(home.call("up", "-f", str(file), "-o", "json"))["id"]
    home.call("wait", job)
    document = json.loads(home.call("show", job, "-o", "json"))
    assert document["status"] == "SUCCEEDED", home.call("logs", job)
    moment = datetime.fromisoformat
    seconds = {each["name"]: (moment(each["ended_at"]) - moment(each["started_at"])).total_seconds()
               for each in document["steps"]}
    attempts = {}
    for each in document["steps"]:
        tasks = json.loads(home.call("show", job, "--step", each["name"], "--limit", "100", "-o", "json"))["tasks"]
        attempts[each["name"]] = sum(task["attempts"] for task in tasks)
    return seconds, attempts, home.call("logs", job)


def ratios(seconds, pairs, above, below):
    found = [seconds[f"{above}-{pair}"] / seconds[f"{below}-{pair}"] for pair in range(pairs)]
    return f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})"


def text(files, pairs):
    with Home() as home:
        seconds, attempts, log = run(home, text_job(files, pairs))
    digests = re.findall(r"digest (\w+)", log)
    assert len(digests) == 3 * pairs and len(set(digests)) == 1, digests
    middle = {kind: statistics.median(seconds[f"{kind}-{pair}"] for pair in range(pairs)) for kind in ("one", "two", "killed")}
    print(f"text, {files} files: one worker {middle['one']:.1f} s, two {middle['two']:.1f} s, two with "
          f"{attempts['killed-0'] - SHARDS} of {SHARDS} killed {middle['killed']:.1f} s; one/two "
          f"{ratios(seconds, pairs, 'one', 'two')}; the same digest {len(digests)} times", flush=True)


def inference(pairs):
    with Home() as home:
        home.env["PATH"] = f"{ROOT / '.venv/bin'}:{home.env['PATH']}"
        home.stop()
        seconds, attempts, log = run(home, inference_job(pairs))
    counts = set(re.findall(r"\d+ predictions of \d+ images", log))
    assert counts == {"60000 predictions of 60000 images"}, counts
    middle = {kind: statistics.median(seconds[f"{kind}-{pair}"] for pair in range(pairs)) for kind in ("calm", "killed")}
    print(f"inference, 60000 images: {middle['calm']:.1f} s, with {attempts['killed-0'] - 60} of 60 instances killed "
          f"{middle['killed']:.1f} s; throughput {ratios(seconds, pairs, 'calm', 'killed')}; each image once", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=3)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--text", action="store_true")
    only.add_argument("--inference", action="store_true")
    arguments = parser.parse_args()
    if not arguments.inference:
        text(arguments.files, arguments.pairs)
    if not arguments.text:
        inference(arguments.pairs)


if __name__ == "__main__":
    main()
