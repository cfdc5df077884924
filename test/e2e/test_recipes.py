"""Hyper's recipes, unchanged: looked at where no machine could run them, imported, and run where one can."""

import pathlib
import re

import pytest

RECIPES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "hyper"


@pytest.mark.parametrize("name", ["mnist", "multi_gpu", "search"])
def test_a_recipe_for_other_machines_is_looked_at_and_imported(runnel, name):
    recipe = RECIPES / f"{name}.yaml"
    runnel.run("validate", "-f", recipe)
    assert "warning: " in runnel.err and "containers are not in this version" in runnel.err
    plan = runnel.run("plan", "-o", "wide", "-f", recipe)
    assert re.search(r"p[23]\.\w+ \$[0-9.]+/h", plan), plan
    ours = runnel.run("import", recipe)
    assert f"{recipe}:" in runnel.err
    assert runnel.run("plan", "-f", runnel.file(ours), code=2) == "", "our own form is refused: there is no such GPU"
    runnel.run("up", "-f", recipe, code=2)
    assert "no node has the device" in runnel.err
    assert not (runnel.home / "daemon.sock").exists()


def test_the_twins_of_the_recipes_run(runnel, tmp_path):
    runnel.env["XDG_CONFIG_HOME"] = str(tmp_path)
    (tmp_path / "runnel").mkdir()
    (tmp_path / "runnel" / "prices.yaml").write_text(runnel.run("prices", "-o", "yaml"))
    runnel.use_python_of_the_project()
    jobs = {name: runnel.json("up", "-f", RECIPES / f"{name}.yaml")["id"]
            for name in ("mnist_cpu", "multi_cpu", "search_cpu")}
    documents = {name: runnel.wait(job) for name, job in jobs.items()}
    assert {document["status"] for document in documents.values()} == {"SUCCEEDED"}, documents
    for name in ("mnist_cpu", "multi_cpu"):
        assert re.search(r"accuracy 0\.[78]\d", runnel.run("logs", jobs[name]))
    assert "best of 6: " in runnel.run("logs", jobs["search_cpu"], "--step", "report")
    # The account, once prices are set: measured seconds of whole machines at the price of the like instance.
    cost = documents["mnist_cpu"]["cost"]
    assert cost["spent_per_hour"] == 0 and cost["spent"] > 0 and cost["list"] == cost["spent"]
    assert re.search(r"^cost +\$0\.\d{4}$", runnel.run("show", jobs["mnist_cpu"]), re.MULTILINE)


def test_prices_can_be_changed(runnel, tmp_path):
    runnel.env["XDG_CONFIG_HOME"] = str(tmp_path)
    table = runnel.run("prices", "-o", "yaml")
    assert "p3.16xlarge" in runnel.run("prices")
    (tmp_path / "runnel").mkdir()
    (tmp_path / "runnel" / "prices.yaml").write_text(table.replace("price: 24.48", "price: 1.5"))
    prices = {each["name"]: each["price"] for each in runnel.json("prices")["instances"]}
    assert prices["p3.16xlarge"] == 1.5
    (tmp_path / "runnel" / "prices.yaml").write_text("instances: {a: {cpus: 2, memory: 8GB, prise: 1}}")
    runnel.run("prices", code=2)
    assert "prices.yaml:1:" in runnel.err and "`price`" in runnel.err
