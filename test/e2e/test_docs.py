"""What the documents show works: every job file in them is checked, those of the pages about searching are run."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
METHODS = sorted((ROOT / "docs" / "search").glob("*.md"))


def job_files(page):
    """The YAML blocks of a page that are whole job files."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if re.search(r"^(run|command|steps):", block, re.MULTILINE)]


@pytest.mark.parametrize("page", [page for page in PAGES if job_files(page)], ids=lambda page: page.stem)
def test_a_job_file_of_a_guide_is_valid(runnel, page):
    for number, block in enumerate(job_files(page)):
        # What only a larger machine or another shell has: its size, and what is given at launch.
        file = runnel.file(re.sub(r"num_nodes: \d+", "num_nodes: 1", block), f"{page.stem}-{number}.yaml")
        given = re.findall(r"(\w+): \"\"", block)
        runnel.run("validate", "-f", file, *(word for name in given for word in ("-e", f"{name}=x")))


def test_the_python_of_the_search_guide_runs(runnel):
    text = (ROOT / "docs" / "guides" / "search.md").read_text()
    source, = [block for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
               if "create_study" in block]
    env = {**runnel.env, "PYTHONPATH": str(ROOT / "python")}
    runnel.run("home")
    done = subprocess.run([sys.executable, "-c", source], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert runnel.json("study", "list")["studies"][0]["asked"] == 40


@pytest.mark.parametrize("page", METHODS, ids=lambda page: page.stem)
def test_a_search_of_a_page_runs(runnel, page):
    for block in job_files(page):
        job = runnel.up(block)
        document = runnel.wait(job)
        assert document["status"] == "SUCCEEDED", runnel.run("show", "--tasks", job)
        assert document["steps"][0]["search"]["best"]["params"]
    assert job_files(page) or page.stem in ("auto", "quality")  # These compare methods.


def test_the_first_project_is_done_as_its_guide_says(runnel):
    runnel.use_python_of_the_project()
    text = (ROOT / "docs" / "guides" / "first-project.md").read_text()
    for name, content in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        runnel.file(content, name)
    commands = [line for block in re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
                for line in block.splitlines()]
    assert len(commands) == 8
    job = None
    for command in commands:
        output = runnel.run(*command.replace("ID", job or "ID").split()[1:])
        if command.startswith("runnel run"):
            assert re.search(r"train/0.*: y = [12]\.\d\d x \+ [01]\.\d\d, loss 0\.0", output), output
            job = runnel.json("ps", "-a")["jobs"][0]["id"]
    assert "loss 0.0" in output
    assert "best of search: trial" in runnel.run("show", job)
