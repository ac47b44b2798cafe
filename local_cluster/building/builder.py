"""Turns a `Build` into programs in the cache, once.

Invariant: an entry of the cache is either complete (programs, links, assets and a manifest with
their hashes, created by one rename) or absent. Two processes that want the same build
wait for each other.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from local_cluster.building.programs import Build
from local_cluster.building.progress import Progress
from local_cluster.building.toolchain import Toolchain, find_toolchain
from local_cluster.errors import ClusterError
from local_cluster.places import builds_directory

_MANIFEST = "manifest.json"
_NEEDED_BYTES = 6 * 10**9
"""Sources, compile cache and result of one control plane, with a margin."""


def is_built(build: Build) -> bool:
    """Return whether the programs of `build` exist."""
    return _entry(build).exists()


def ensure_built(build: Build, *, again: bool = False) -> Path:
    """Return the directory with the programs of `build`, building them when they are missing."""
    entry = _entry(build)
    if again:
        shutil.rmtree(entry, ignore_errors=True)
    if not entry.exists():
        with _only_builder(build):
            if not entry.exists():
                _make(build, entry)
    _verify(build, entry)
    return entry


def _entry(build: Build) -> Path:
    return builds_directory() / f"{build.name}-{build.key}"


def _make(build: Build, entry: Path) -> None:
    _require_space(entry.parent)
    go = find_toolchain()
    partial = entry.with_name(entry.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        _compile(build, go, partial)
        for name in build.links:
            (partial / name).symlink_to(build.programs[0])
        _collect_assets(build, go, partial / "assets")
        manifest = {name: _digest(partial / name) for name in build.programs}
        (partial / _MANIFEST).write_text(json.dumps(manifest))
        partial.rename(entry)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _compile(build: Build, go: Toolchain, target: Path) -> None:
    listing = _go(build, go, "list", "-deps", *build.packages)
    progress = Progress(build.name, len(listing.split()))
    values = " ".join(f"-X {value}" for value in build.linker_values)
    size = 0
    for package, program in zip(build.packages, build.programs, strict=True):
        output = target / program
        command = ["build", "-v", "-trimpath", f"-ldflags=-s -w {values}", "-o", str(output)]
        _go_build(build, go, [*command, package], progress)
        size += output.stat().st_size
    progress.done(size)


def _go_build(build: Build, go: Toolchain, arguments: list[str], progress: Progress) -> None:
    output: list[str] = []
    with subprocess.Popen(
        [go.program, *arguments],
        cwd=build.source,
        env=_environment(),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            output.append(line)
            if not line.startswith(("#", "go:", "\t")):
                progress.compiled(line.strip())
    if process.returncode != 0:
        raise _failure(build, "".join(output[-40:]))


def _go(build: Build, go: Toolchain, *arguments: str) -> str:
    done = subprocess.run(
        [go.program, *arguments],
        cwd=build.source,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise _failure(build, done.stderr)
    return done.stdout


def _failure(build: Build, output: str) -> ClusterError:
    if "no space left on device" in output:
        return ClusterError(
            f"the disk filled up while building {build.name}",
            "Free some space (`go clean -cache` drops old compile results) and run it again",
        )
    return ClusterError(
        f"building {build.name} failed",
        f"Repeat it with: python -m local_cluster build {build.name}",
        details=output.strip(),
    )


def _collect_assets(build: Build, go: Toolchain, target: Path) -> None:
    for module, pattern in build.assets:
        folder = Path(_go(build, go, "list", "-m", "-f", "{{.Dir}}", module).strip())
        files = sorted(folder.glob(pattern))
        if not files:
            raise ClusterError(
                f"module {module} has no files {pattern}", "Check its pinned version"
            )
        target.mkdir(exist_ok=True)
        for file in files:
            (target / file.name).write_bytes(file.read_bytes())


def _environment() -> dict[str, str]:
    settings = {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    return {**os.environ, **settings}


def _verify(build: Build, entry: Path) -> None:
    remedy = f"Run: python -m local_cluster build --again {build.name}"
    try:
        manifest: dict[str, str] = json.loads((entry / _MANIFEST).read_text())
        damaged = [name for name in build.programs if _digest(entry / name) != manifest[name]]
    except (OSError, ValueError, KeyError) as error:
        raise ClusterError(f"the cached build {entry.name} is damaged ({error})", remedy) from error
    if damaged:
        raise ClusterError(
            f"the cached build {entry.name} is damaged ({', '.join(damaged)} changed)", remedy
        )


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _require_space(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(directory).free
    if free < _NEEDED_BYTES:
        raise ClusterError(
            f"building needs {_NEEDED_BYTES / 1e9:.0f} GB free at {directory}, there are {free / 1e9:.1f} GB",
            "Free some space, or set LOCAL_CLUSTER_HOME and GOCACHE to another disk",
        )


@contextlib.contextmanager
def _only_builder(build: Build) -> Iterator[None]:
    builds_directory().mkdir(parents=True, exist_ok=True)
    with (builds_directory() / f"{build.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another process builds {build.name}; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
