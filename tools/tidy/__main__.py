import argparse
import json
import sys
from pathlib import Path

from . import bans, coroutines, files, layers, lengths
from .repository import Repository

ROOT = Path(__file__).resolve().parent.parent.parent


def violations(repository: Repository) -> list:
    checks = [*layers.CHECKS, *bans.CHECKS, *coroutines.CHECKS, *files.CHECKS, *lengths.CHECKS]
    found = {violation for check in checks for violation in check(repository)}
    allowed = {source.path: source.allowances for source in repository.sources}
    found = {item for item in found if (item.line, item.check) not in allowed.get(item.path, ())}
    return sorted(found, key=lambda violation: (violation.path, violation.line, violation.check))


def write_ratchet(repository: Repository, accept: list[str]) -> None:
    ratchet = lengths.shrunk_ratchet(repository, tuple(accept))
    (repository.root / lengths.RATCHET).write_text(json.dumps(ratchet, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tools.tidy", description="Runnel's own lint")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    parser.add_argument("--no-table", action="store_true", help="only the violations")
    parser.add_argument("--module", help="only what concerns this folder of src/")
    parser.add_argument("--update-ratchet", action="store_true", help="write down what shrank")
    parser.add_argument("--accept", nargs="+", default=[], metavar="MODULE",
                        help="with --update-ratchet: let these modules start from where they are")
    options = parser.parse_args()
    repository = Repository(options.root.resolve())
    if options.update_ratchet:
        write_ratchet(repository, options.accept)
    found = violations(repository)
    if options.module:
        found = [item for item in found if f"{item.path}/".startswith(f"src/{options.module}/")]
    if not options.no_table:
        print(lengths.table(repository))
        print()
    for violation in found:
        print(violation)
    print(f"tidy: {len(repository.sources)} files, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
