"""Examples that have no test of their own run, and come to a sensible end."""

import pathlib
import re
import shutil

from conftest import kill

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def done(runnel, name):
    job = runnel.json("up", "-f", EXAMPLES / name)["id"]
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED", runnel.run("logs", job)
    return job, document


def test_a_trainer_in_cpp_is_searched_and_trained(runnel):
    job, document = done(runnel, "cpp.yaml")
    search = next(step["search"] for step in document["steps"] if step["name"] == "search")
    assert search["asked"] == 12
    loss = float(re.search(r"loss (\S+) after 200 epochs", runnel.run("logs", job, "--step", "train"))[1])
    # More epochs of a learning rate that was near its limit already may end a little above the trial's own loss.
    assert loss <= max(2 * search["best"]["values"]["loss"], 0.001)


def test_two_goals_give_a_front(runnel):
    runnel.use_python_of_the_project()
    job, document = done(runnel, "pareto.yaml")
    results = [sample["values"] for series in runnel.json("metrics", job)["series"] for sample in series["samples"]]
    assert len(results) == 16
    best = document["steps"][0]["search"]["best"]["values"]
    beaten = [each for each in results if each["error"] <= best["error"] and each["seconds"] < best["seconds"]]
    assert not beaten, "nobody is better than the best in both"


def test_hello_greets_from_its_job(runnel):
    out = runnel.run("run", EXAMPLES / "hello.yaml")
    assert re.search(r"Hello from job \w+", out)


def test_a_diamond_joins_what_both_sides_summed(runnel):
    assert f"sum: {sum(range(1, 101))}" in runnel.run("run", EXAMPLES / "diamond.yaml")


def test_a_sweep_leaves_a_result_for_each_point(runnel):
    out = runnel.run("run", EXAMPLES / "sweep.yaml")
    points = {(lr, width) for lr in ("0.1", "0.01", "0.001") for width in ("64", "128")}
    assert points <= set(re.findall(r"(0\.\d+) (64|128)$", out, re.MULTILINE))


def test_a_survivor_loses_nothing_to_kills(runnel):
    job = runnel.json("up", "-f", EXAMPLES / "survivor.yaml")["id"]
    for step in ("prepare", "work", "check"):
        runnel.until(lambda: any(each["name"] == step and each["status"] != "PENDING" for each in runnel.job(job)["steps"]))
        kill(runnel.info()["daemon_pid"])
        kill(runnel.info()["runner_pid"])
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED" and document["counts"] == {"SUCCEEDED": 120}


def test_the_main_job_in_small_form(runnel):
    """Every step of examples/quickstart.yaml on a part of the data: what `make demo` does in minutes."""
    runnel.use_python_of_the_project()
    text = (EXAMPLES / "quickstart.yaml").read_text()
    for large, small in (("max_trials: 14", "max_trials: 3"), ("--fraction 0.2 --epochs 4", "--fraction 0.02 --epochs 2"),
                         ("max_step: 4", "max_step: 2"), ("--epochs 10 --batch 64", "--fraction 0.02 --epochs 2 --batch 64"),
                         ("foreach: [0, 1, 2, 3]", "foreach: [0, 1]"), ("--shards 4", "--shards 2")):
        assert text.count(large) == 1, large
        text = text.replace(large, small)
    shutil.copytree(EXAMPLES / "quickstart", runnel.work / "quickstart")
    runnel.run("volume", "create", "fashion")
    runnel.run("volume", "put", "/usr/share/datasets/fashion-mnist", "fashion")
    job = runnel.up(text)
    document = runnel.wait(job)
    assert document["status"] == "SUCCEEDED", runnel.run("explain", job)
    report = runnel.run("logs", job, "--step", "report")
    assert "over 10000 test images, each predicted once" in report
    accuracy = float(re.search(r"^(?:report/0: )?accuracy (0\.\d+)$", report, re.MULTILINE)[1])
    assert accuracy > 0.3, "a tenth is chance"
    assert (runnel.home / "jobs" / job / "shared" / "curves.png").stat().st_size > 10_000
