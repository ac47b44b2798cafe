"""Writes what `kubectl apply -k deploy/all` applied at a commit: `python -m tests.upgrade.record_manifests REF NAME`.

`test_from_manifests.py` then shows that those of today can be applied over it. Run it for each tag; the
result is the same each time.
"""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.versions import DEFAULT_MINOR

FOLDER = Path(__file__).parent / "manifests"
_ROOT = Path(__file__).parents[2]


def record(ref: str, name: str) -> Path:
    """Write the manifests of a commit."""
    kubectl = ensure_built(build_of(f"kubernetes-{DEFAULT_MINOR}")) / "kubectl"
    with tempfile.TemporaryDirectory() as directory:
        archive = subprocess.run(
            ["git", "archive", ref, "deploy", "crds"], cwd=_ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", directory], input=archive.stdout, check=True)
        rendered = subprocess.run(
            [str(kubectl), "kustomize", f"{directory}/deploy/all"], capture_output=True, check=True
        )
    file = FOLDER / f"{name}.yaml.gz"
    # Without a time in its header, it has the same bytes each time.
    file.write_bytes(gzip.compress(rendered.stdout, mtime=0))
    return file


def read(file: Path) -> str:
    """Return the manifests of a file."""
    return gzip.decompress(file.read_bytes()).decode()


if __name__ == "__main__":
    sys.stdout.write(f"{record(*sys.argv[1:])}\n")
