"""Examples that have no test of their own run, and come to a sensible end."""

import pathlib
import re

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def done(runnel, name):
    job = runnel.json("up", "-f", EXAMPLES / name)["id"]
    document = runnel.wait(job, timeout=180)
    assert document["status"] == "SUCCEEDED", runnel.run("logs", job)
    return job, document


def test_a_trainer_in_cpp_is_searched_and_trained(runnel):
    job, document = done(runnel, "cpp.yaml")
    search = next(step["search"] for step in document["steps"] if step["name"] == "search")
    assert search["asked"] == 12
    loss = float(re.search(r"loss (\S+) after 200 epochs", runnel.run("logs", job, "--step", "train"))[1])
    assert loss <= search["best"]["values"]["loss"] and loss < 0.05


def test_two_goals_give_a_front(runnel):
    runnel.use_python_of_the_project()
    job, document = done(runnel, "pareto.yaml")
    results = [sample["values"] for series in runnel.json("metrics", job)["series"] for sample in series["samples"]]
    assert len(results) == 16
    best = document["steps"][0]["search"]["best"]["values"]
    beaten = [each for each in results if each["error"] <= best["error"] and each["seconds"] < best["seconds"]]
    assert not beaten, "nobody is better than the best in both"
