"""The driver of `make test`: what it says at the end, and that no failure is lost."""

import sys

import pytest

from tools import test as driver

PASS = [sys.executable, "-c", "print('fine')"]
FAIL = [sys.executable, "-c", "print('broken'); raise SystemExit(3)"]


@pytest.fixture(autouse=True)
def logs(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "LOGS", tmp_path)


def stage(name: str, *commands: list[str], budget_s: int = 60) -> driver.Stage:
    return driver.Stage(name, budget_s, driver.fixed(*commands), skipped="nothing there")


def test_stage_ends_at_the_first_command_that_fails():
    outcome = driver.run_stage(stage("unit", PASS, FAIL, [sys.executable, "-c", "print('never')"]))
    assert outcome.failed
    assert "fine" in outcome.log and "broken" in outcome.log and "\nnever" not in outcome.log


def test_every_fuzzer_runs_although_one_has_a_finding():
    outcome = driver.run_stage(stage("fuzz", FAIL, PASS))
    assert outcome.failed and "fine" in outcome.log


def test_command_that_does_not_exist_fails_its_stage():
    assert driver.run_stage(stage("e2e", ["./no-such-program"])).failed


def test_table_tells_failures_skips_and_budgets():
    outcomes = [driver.run_stage(stage("unit", FAIL)), driver.run_stage(stage("sim")),
                driver.run_stage(stage("e2e", PASS, budget_s=0))]
    text = driver.table(outcomes)
    assert "FAILED" in text and "nothing there" in text and "over its budget" in text


def test_last_lines_are_the_summaries_of_ctest_and_pytest():
    def outcome(name: str, log: str) -> driver.Outcome:
        return driver.Outcome(stage(name), 1.0, False, "", log)

    outcomes = [
        outcome("tools", "100 passed in 6.88s\n"),
        outcome("unit", "99% tests passed, 1 tests failed out of 7\n\nTotal Test time (real) = 1 sec\n"),
        outcome("e2e", "....\n1 failed, 11 passed in 3.21s\n"),
        outcome("asan", "100% tests passed, 0 tests failed out of 9\n"),
    ]
    assert driver.summaries(outcomes) == [
        "99% tests passed, 1 tests failed out of 7", "1 failed, 11 passed in 3.21s"]
    assert driver.summaries(outcomes[:1]) == ["100 passed in 6.88s"]


def test_stages_are_chosen_by_name():
    assert [item.name for item in driver.chosen("e2e,unit", "")] == ["unit", "e2e"]
    assert "asan" not in [item.name for item in driver.chosen("", "asan,tsan")]
    with pytest.raises(SystemExit, match="no stage 'nosuch'"):
        driver.chosen("nosuch", "")


def test_budgets_fit_into_what_is_promised():
    assert sum(item.budget_s for item in driver.STAGES) <= 45 * 60  # Cold, on two cores.
