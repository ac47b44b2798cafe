"""`python -m releasing [--image REGISTRY/podgang] [--dry-run]`: write the files of a release.

They go to dist/VERSION: one manifest file for each component, the chart, the bill of materials, the
provenance, checksums, the release notes and the image as an archive. A dry run writes all but the image,
permits uncommitted changes, and is what the tests run. Nothing is pushed, tagged or signed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.container_node.product_image import product_image
from local_cluster.errors import ClusterError
from local_cluster.versions import DEFAULT_MINOR
from releasing import files
from releasing.checks import complaints, notes_of, version_of

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None) -> int:
    """Entry point."""
    options = _options(arguments)
    found = complaints(ROOT)
    if not options.dry_run and _git("status", "--porcelain"):
        found.append("there are uncommitted changes: commit them first")
    if found:
        sys.stderr.write("".join(f"release: {complaint}\n" for complaint in found))
        return 1
    try:
        return _write(options)
    except ClusterError as error:
        sys.stderr.write(f"release: {error}\n{error.details}\n")
        return 1


def _write(options: argparse.Namespace) -> int:
    version = version_of(ROOT)
    kubectl = ensure_built(build_of(f"kubernetes-{DEFAULT_MINOR}")) / "kubectl"
    made = {
        **files.manifests(ROOT, kubectl, options.image, version),
        **files.chart(ROOT, options.image, version),
        **files.bill_of_materials(ROOT),
        "NOTES.md": notes_of(ROOT, version).encode() + b"\n",
    }
    commit = _git("rev-parse", "HEAD")
    if not options.dry_run:
        made |= files.image(product_image(ROOT, print, revision=commit), version)
    made |= files.provenance(made, commit, version)
    made |= files.checksums(made)
    target: Path = options.output or ROOT / "dist" / version
    target.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        (target / name).write_bytes(content)
    sys.stdout.write("".join(f"{target / name}\n" for name in sorted(made)))
    return 0


def _git(*arguments: str) -> str:
    done = subprocess.run(  # noqa: S603
        ["git", *arguments],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or ("unknown" if done.returncode else "")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m releasing", description=__doc__)
    parser.add_argument(
        "--image", default="podgang", help="repository that the image is pushed to (podgang)"
    )
    parser.add_argument("--output", type=Path, help="directory (dist/VERSION)")
    parser.add_argument("--dry-run", action="store_true", help="everything but the image")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
