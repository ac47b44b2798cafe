"""The content of a release's files. The same commit gives the same bytes, but for the image.

Manifests are what `kubectl apply -k` would send, one file for each component, with the image of the
registry. The chart is an archive as `helm package` makes it.
"""

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from chartgen.bases import BACKENDS
from local_cluster.container_node.archives import file_of_image, image_id
from local_cluster.container_node.product_image import BILL_OF_MATERIALS

FOLDERS = {
    "crds": "crds",
    "core": "deploy/core",
    **{f"backend-{name}": f"deploy/backends/{name}" for name in BACKENDS},
    "policies": "deploy/policies",
    "all": "deploy/all",
    "all-in-one": "deploy/overlays/all-in-one",
}
"""Manifest files and the folders they are rendered from."""


def manifests(root: Path, kubectl: Path, image: str, version: str) -> dict[str, bytes]:
    """Return one file for each component, with the image by its full name."""
    found: dict[str, bytes] = {}
    for name, folder in FOLDERS.items():
        done = subprocess.run(  # noqa: S603
            [str(kubectl), "kustomize", str(root / folder)],
            check=True,
            capture_output=True,
            text=True,
        )
        text = done.stdout.replace(f"image: podgang:{version}", f"image: {image}:{version}")
        found[f"{name}.yaml"] = text.encode()
    return found


def chart(root: Path, image: str, version: str) -> dict[str, bytes]:
    """Return the archive of the chart, with the image's repository as its default."""
    folder = root / "deploy" / "chart"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = file.read_bytes()
            if file.name == "values.yaml":
                content = content.replace(
                    b"  repository: podgang\n", f"  repository: {image}\n".encode()
                )
            entry = tarfile.TarInfo(f"podgang/{file.relative_to(folder).as_posix()}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    # Without a time in its header, it has the same bytes each time.
    return {f"podgang-{version}.tgz": gzip.compress(buffer.getvalue(), mtime=0)}


def bill_of_materials(root: Path) -> dict[str, bytes]:
    """Return the bill of the Python packages."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(root / "deploy/image/sbom.py"), "requirements-runtime.lock"],
        cwd=root,
        check=True,
        capture_output=True,
    )
    return {"sbom.json": done.stdout}


def image(archive: Path, version: str) -> dict[str, bytes]:
    """Return the image, its digest, and its bill of materials, which has the base's packages too."""
    return {
        f"podgang-{version}-image.tar": archive.read_bytes(),
        "image-digest.txt": f"{image_id(archive)}\n".encode(),
        "sbom-image.json": file_of_image(archive, BILL_OF_MATERIALS),
    }


def provenance(files: Mapping[str, bytes], commit: str, version: str) -> dict[str, bytes]:
    """Return an in-toto statement (SLSA provenance 1.0): which commit the files were made from."""
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": name, "digest": {"sha256": hashlib.sha256(content).hexdigest()}}
            for name, content in sorted(files.items())
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "podgang/make-release",
                "externalParameters": {"version": version},
                "resolvedDependencies": [{"name": "source", "digest": {"gitCommit": commit}}],
            },
            "runDetails": {"builder": {"id": "make release"}},
        },
    }
    return {"provenance.json": json.dumps(statement, indent=1).encode() + b"\n"}


def checksums(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the file that `sha256sum --check` reads."""
    lines = (
        f"{hashlib.sha256(content).hexdigest()}  {name}\n"
        for name, content in sorted(files.items())
    )
    return {"SHA256SUMS": "".join(lines).encode()}


def images_in(manifest: bytes) -> set[str]:
    """Return the images that the manifests of a file name."""
    found: set[str] = set()
    for item in yaml.safe_load_all(manifest):
        if item and item["kind"] == "Deployment":
            found |= {one["image"] for one in item["spec"]["template"]["spec"]["containers"]}
    return found
