"""What documents and lists say about each other is true."""

import json
import re
import subprocess
from pathlib import Path

from tools.check_lock import differences
from tools.tidy import layers
from tools.tidy.repository import Repository

ROOT = Path(__file__).resolve().parents[2]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def packages(path: str) -> list[str]:
    return re.sub(r"#.*", "", read(path)).split()


def test_every_package_is_explained():
    text = read("docs/dependencies.md")
    assert [name for name in packages("tools/apt-packages.txt") if f"`{name}`" not in text] == []


def test_pinned_versions_are_the_documented_ones():
    text = read("docs/dependencies.md")
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", read("python/requirements.lock"), re.MULTILINE))
    for requirement in packages("python/requirements.in"):
        name = requirement.partition("==")[0]
        assert pins[name] in text, f"{name} {pins[name]}"


def test_third_party_rows_name_modules_that_exist():
    modules = Repository(ROOT).modules
    unknown = {name for owners in layers.THIRD_PARTY.values() for name in owners} - set(modules)
    assert unknown == set()


def test_linked_libraries_belong_to_modules():
    rows = re.findall(r"^runnel_third_party\((\w+)", read("cmake/third_party.cmake"), re.MULTILINE)
    assert set(rows) <= set(Repository(ROOT).modules)


def test_version_is_read_from_one_place():
    source = "import sys; sys.path.insert(0, 'python'); import runnel; print(runnel.__version__)"
    done = subprocess.run(["/usr/bin/python3", "-c", source], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == read("VERSION").strip()


def test_help_lists_every_goal():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True)
    goals = re.search(r"^\.PHONY: (.*)$", read("Makefile"), re.MULTILINE)[1].split()
    assert [goal for goal in goals if f"make {goal} " not in done.stdout] == []


def test_presets_are_documented():
    text = read("CONTRIBUTING.md")
    presets = [item["name"] for item in json.loads(read("CMakePresets.json"))["configurePresets"]
               if not item.get("hidden")]
    assert [name for name in presets if f"`{name}`" not in text] == []


def test_differences_of_a_lock_file_are_sentences():
    assert differences("pytest==0.0.1 \\\n    --hash=sha256:00\nno-such-package==1.0 \\\n") != []
    assert "no-such-package 1.0 is not installed" in differences("no-such-package==1.0 \\\n")


def test_planted_bugs_still_apply():
    def applies(patch: Path) -> bool:
        command = ["git", "apply", "--check", str(patch)]
        return subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0

    patches = sorted((ROOT / "src").glob("*/mutants/*.patch"))
    assert patches and [patch.name for patch in patches if not applies(patch)] == []
