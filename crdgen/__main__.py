"""Write crds/ from the models. With --check, write nothing and fail if crds/ is stale."""

import argparse
import sys
from pathlib import Path

import yaml

from crdgen.kinds import KINDS

_HEADER = "# Generated from shared_api/models by `python -m crdgen`. Do not edit.\n"
_DIRECTORY = Path(__file__).resolve().parents[1] / "crds"


def render() -> dict[str, str]:
    """Return the content of every CRD by file name."""
    return {f"{kind.name}.yaml": _HEADER + _to_yaml(kind.definition()) for kind in KINDS}


def stale(directory: Path, expected: dict[str, str]) -> list[str]:
    """Return the names of files that are missing, differ or are no longer generated."""
    found = {path.name: path.read_text() for path in directory.glob("*.yaml")}
    return sorted(
        name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
    )


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m crdgen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when stale")
    parser.add_argument("--directory", type=Path, default=_DIRECTORY, help="default: crds/")
    options = parser.parse_args(argv)
    expected = render()
    outdated = stale(options.directory, expected)
    if options.check:
        if outdated:
            sys.stderr.write(f"crds/ is stale ({', '.join(outdated)}): run python -m crdgen\n")
        return 1 if outdated else 0
    for name in outdated:
        path = options.directory / name
        if name in expected:
            path.write_text(expected[name])
        else:
            path.unlink()
    return 0


class _Dumper(yaml.SafeDumper):
    # Anchors make the files, and the output of kubectl diff, hard to read.
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True


def _to_yaml(document: object) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)


if __name__ == "__main__":
    sys.exit(main())
