"""Writes what an installer would write of our package: its name and its entry points, by which fsspec finds runnel://.

usage: .venv/bin/python tools/dist_info.py SITE_PACKAGES        (says so where something changes)
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def entry_points(project: dict) -> str:
    groups = project["entry-points"].items()
    return "\n".join(f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
                     for group, points in groups)


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    texts = {"METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
             "entry_points.txt": entry_points(project), "INSTALLER": "tools/setup.sh\n"}
    # One folder for all versions, so that none is left behind.
    folder = Path(sys.argv[1]) / f"{project['name']}-source.dist-info"
    for name, text in texts.items():
        file = folder / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            folder.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(f"setup: python: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
