"""The simulator's command line: what it does not know it refuses, before it runs anything."""

import subprocess

import pytest
from conftest import ROOT

CAMPAIGN = ROOT / "build/release/bin/sim_campaign"


def campaign(*words):
    return subprocess.run([CAMPAIGN, *words], capture_output=True, text=True, timeout=10)


@pytest.mark.parametrize(("words", "why"), [
    (["--shedules", "10"], "there is no flag --shedules"), (["--schedules"], "--schedules lacks its number"),
    (["--schedules", "many"], "--schedules takes a number from 0, not 'many'"), (["10"], "there is no flag 10")])
def test_a_wrong_flag_runs_nothing(words, why):
    done = campaign(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr and "usage: sim_campaign" in done.stderr


def test_help_is_the_usage():
    done = campaign("--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: sim_campaign"), done
