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


SAVING = """
name: saving
envs: {{PYTHONPATH: {python}}}
checkpoint: {{dir: ckpt}}
params: {{trial: [1, 2]}}
run: python3 save.py
"""


def test_what_the_search_guide_saves_is_each_task_s_checkpoint(runnel):
    runnel.use_python_of_the_project()
    text = (ROOT / "docs" / "guides" / "search.md").read_text()
    snippet, = [block for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
                if "runnel.saving()" in block]
    runnel.file("import os\nimport runnel\nimport torch\n\nepoch, loss, state = 1, 0.5, {}\n" + snippet, "save.py")
    job = runnel.up(SAVING.format(python=ROOT / "python"))
    assert runnel.wait(job)["status"] == "SUCCEEDED", runnel.run("logs", job)
    saved = sorted(runnel.home.glob(f"jobs/{job}/**/ckpt/state.pt"))
    assert len(saved) == 2, saved


def test_the_commands_of_the_guide_to_volumes_run(runnel, tmp_path):
    text = (ROOT / "docs" / "guides" / "volumes.md").read_text()
    script = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    place = tmp_path / "guide"
    place.mkdir()
    env = {**runnel.env, "PATH": f"{runnel.binary.parent}:{runnel.env['PATH']}"}
    done = subprocess.run(["bash", "-euc", script], cwd=place, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in (place / "copy/train").iterdir()) == ["1.png", "3.png"]
    assert sorted(path.name for path in (place / "before/train").iterdir()) == ["1.png", "2.png", "3.png"]
    snippets = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(snippets) == 2
    for source in snippets:
        done = subprocess.run([sys.executable, "-c", source], cwd=place, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "1.png" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("page", METHODS, ids=lambda page: page.stem)
def test_a_search_of_a_page_runs(runnel, page):
    for block in job_files(page):
        job = runnel.up(block)
        document = runnel.wait(job)
        assert document["status"] == "SUCCEEDED", runnel.run("show", "--tasks", job)
        assert document["steps"][0]["search"]["best"]["params"]
    assert job_files(page) or page.stem in ("auto", "quality")  # These compare methods.


def shell_of(page):
    return "".join(re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE))


def test_the_guide_to_spot_nodes_runs(runnel):
    page = ROOT / "docs" / "guides" / "spot.md"
    nodes, = [block for block in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
              if block.startswith("nodes:")]
    runnel.home.mkdir()
    (runnel.home / "nodes.yaml").write_text(nodes)
    job_file, = job_files(page)
    runnel.file(job_file, "fits.yaml")
    up, preempt, look, wait, show = [line.split("#")[0].split()[1:] for line in shell_of(page).splitlines()]
    job = runnel.run(*up).strip()
    runnel.until(lambda: "step 3" in runnel.run("logs", job))
    runnel.run(*preempt)
    assert "leaving" in runnel.run(*look)
    runnel.run(*[word.replace("ID", job) for word in wait])
    tasks = runnel.json(*[word.replace("ID", job) for word in show])
    assert [attempt["status"] for attempt in tasks["attempts"]] == ["PREEMPTED", "SUCCEEDED"], tasks
    saved, = runnel.home.glob(f"jobs/{job}/**/ckpt/step")
    steps = [int(step) for step in re.findall(r"^step (\d+)$", runnel.run("logs", job), re.MULTILINE)]
    again = int(saved.read_text())
    assert 3 <= again < 100
    # It may be told to go before it has printed the step that it saves.
    assert steps in ([*range(again + 1), *range(again, 101)], [*range(again), *range(again, 101)])
    assert "cost" in runnel.run("show", job)


def test_the_guide_to_the_http_api_runs(runnel):
    script = shell_of(ROOT / "docs" / "guides" / "http.md")
    env = {**runnel.env, "PATH": f"{runnel.binary.parent}:{runnel.env['PATH']}"}
    done = subprocess.run(["bash", "-euc", script], cwd=runnel.work, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "}\nhello\n" in done.stdout and '"code":"conflict"' in done.stdout and '"deleted":true' in done.stdout, done.stdout
    assert re.search(r"^id: \d+$", done.stdout, re.MULTILINE), done.stdout
    assert runnel.json("ps", "-a")["jobs"] == []


REPORTS = """
name: project
steps:
  search:
    params: {lr: {loguniform: [1e-4, 0.1]}}
    search: {metric: value, mode: min, max_trials: 2, method: random}
    run: |
      echo '{"step": 1, "value": {{lr}}, "loss": 0.5}' >> "$RUNNEL_METRICS_FILE"
"""

STUDY = """
name: study
params: {lr: {loguniform: [1e-4, 0.1]}}
search: {metric: value, mode: min, max_trials: 10}
"""


def commands_of(page):
    """What a reader would type: the lines of shell blocks, without their comments."""
    for kind, block in re.findall(r"^```(sh|console)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if kind == "console" and not line.startswith("$ "):
                continue  # An answer.
            yield from (part.strip() for part in re.sub(r"(^|\s)#.*", "", line.removeprefix("$ ")).split(";"))


def run_of_page(runnel, command, job):
    path = f"{ROOT / '.venv/bin'}:{runnel.env['PATH']}"
    done = subprocess.run(["bash", "-c", command.replace(" ID", f" {job}")], cwd=runnel.work, capture_output=True,
                          env={**runnel.env, "PATH": path}, text=True, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("name", ["README.md", "docs/guides/recipes.md", "docs/guides/search.md"])
def test_the_commands_of_a_page_run(runnel, name):
    """The first project's are run by its own test; the main job's, in small form, by test_examples.py."""
    (runnel.work / "examples").symlink_to(ROOT / "examples")
    runnel.file("print('trained')\n", "train.py")
    runnel.file(STUDY, "study.yaml")
    job = runnel.ended(REPORTS)
    runnel.file(REPORTS, "project.yaml")
    ran = 0
    for command in commands_of(ROOT / name):
        if not command.startswith("runnel") or "quickstart" in command:
            continue
        if command.startswith("runnel halt"):
            job = runnel.up("run: sleep 600")
        for _ in range(4 if command.startswith("runnel study ask") else 1):  # The guide's trial is number 3.
            run_of_page(runnel, command, job)
        if re.match(r"runnel (run|up|study create)\b", command):
            job = runnel.json("ps", "-a")["jobs"][0]["id"]
        ran += 1
    assert ran >= 3
    for each in runnel.json("ps")["jobs"]:
        runnel.run("cancel", each["id"])


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
        if "--chaos" in command:
            assert "runnel: chaos: killed process" in runnel.err, runnel.err
        if command.startswith("runnel run"):
            assert re.search(r"train/0.*: y = [12]\.\d\d x \+ [01]\.\d\d, loss 0\.0", output), output
            job = runnel.json("ps", "-a")["jobs"][0]["id"]
    assert "loss 0.0" in output
    assert "best of search: trial" in runnel.run("show", job)
