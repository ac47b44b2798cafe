"""Builds the product's image on a machine without a registry, once for each content.

The base is a Debian with Python from debootstrap. The result is an archive in the cache directory, under
a name that hashes everything that goes into it.
"""

import contextlib
import fcntl
import hashlib
import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from local_cluster.container_node.archives import write_repeatable
from local_cluster.container_node.engine import Engine, engine
from local_cluster.container_node.machine import BUILD_PROGRAMS, Say, require
from local_cluster.errors import ClusterError
from local_cluster.places import builds_directory

BILL_OF_MATERIALS = "opt/podgang/sbom.json"
"""Its path in the image."""
_SUITE = "bookworm"
_PACKAGES = "python3,python3-venv,ca-certificates"
_BASE_TAG = f"local-cluster/python:{_SUITE}"
_CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
_KEPT_IMAGES = 4


def image_name() -> str:
    """Return the name under which manifests know the image of this version."""
    return f"podgang:{metadata.version('podgang')}"


def product_image(root: Path, say: Say, revision: str = "") -> Path:
    """Return an archive with the image of the repository at `root`, building it when it is new."""
    if not (root / "Containerfile").exists():
        raise ClusterError("the image is built from the repository", "Clone it and run this there")
    archive = builds_directory() / f"image-{_key(root, revision)}.tar"
    with _only_builder():
        if not archive.exists():
            build_image(root, archive, say, revision)
            _forget_old()
    # Those that are used stay; see _forget_old.
    archive.touch()
    return archive


def build_image(root: Path, archive: Path, say: Say, revision: str = "") -> None:
    """Build the image and write its archive, whatever was built before."""
    base = _base(say)
    partial, saved = archive.with_suffix(".partial"), archive.with_suffix(".saved")
    arguments = {"BASE": _BASE_TAG, "PIP_CERT": f"/{_CERTIFICATES}", "REVISION": revision}
    with engine(say) as found:
        say(f"building the image {image_name()} ...")
        with base.open("rb") as stream:
            _import(found, stream.fileno())
        found.docker(
            *("build", "--no-cache", "--network=host", "--file", str(root / "Containerfile")),
            *(f"--build-arg={name}={value}" for name, value in arguments.items()),
            *("--tag", image_name(), str(root)),
        )
        found.docker("save", "--output", str(saved), image_name())
    write_repeatable(saved, partial)
    saved.unlink()
    partial.rename(archive)


def _import(found: Engine, archive: int) -> None:
    subprocess.run(
        ["docker", "import", "-", _BASE_TAG],
        env=found.environment,
        stdin=archive,
        capture_output=True,
        check=True,
    )


def _base(say: Say) -> Path:
    """Return an archive with the file system of a small Debian with Python."""
    certificates = _machines_certificates()
    key = hashlib.sha256(f"{_SUITE} {_PACKAGES}".encode() + certificates).hexdigest()[:16]
    archive = builds_directory() / f"base-{key}.tar"
    if archive.exists():
        return archive
    require(BUILD_PROGRAMS, say)
    say(f"installing a Debian {_SUITE} as the base of the image ...")
    with tempfile.TemporaryDirectory(prefix="base-") as directory:
        command = f"--variant=minbase --include={_PACKAGES} {_SUITE}".split()
        # In a mount namespace of its own: it mounts /proc below the directory.
        done = subprocess.run(
            ["unshare", "--mount", "--fork", "debootstrap", *command, directory],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ClusterError("debootstrap failed", details=(done.stdout + done.stderr)[-3000:])
        # Builds meet the same proxies as this machine.
        (Path(directory) / _CERTIFICATES).write_bytes(certificates)
        partial = archive.with_suffix(".partial")
        left_out = ("./var/cache", "./var/lib/apt/lists", "./usr/share/doc", "./usr/share/man")
        subprocess.run(
            [
                *("tar", "-C", directory, "-cf", str(partial)),
                *(f"--exclude={path}/*" for path in left_out),
                ".",
            ],
            check=True,
        )
    partial.rename(archive)
    return archive


def _machines_certificates() -> bytes:
    found = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    standard = Path("/", _CERTIFICATES)
    return Path(found).read_bytes() if found else standard.read_bytes()


def _key(root: Path, revision: str) -> str:
    """Return a hash of everything that the build may read, and of the base."""
    digest = hashlib.sha256(f"{_SUITE} {_PACKAGES} {image_name()} {revision}".encode())
    digest.update((root / "Containerfile").read_bytes())
    for line in (root / ".containerignore").read_text().splitlines():
        if line.startswith("!"):
            for file in _files(root / line[1:]):
                digest.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(
        file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )


def _forget_old() -> None:
    images = sorted(builds_directory().glob("image-*.tar"), key=lambda file: file.stat().st_mtime)
    for file in images[:-_KEPT_IMAGES]:
        file.unlink(missing_ok=True)


@contextlib.contextmanager
def _only_builder() -> Iterator[None]:
    builds_directory().mkdir(parents=True, exist_ok=True)
    with (builds_directory() / "image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
