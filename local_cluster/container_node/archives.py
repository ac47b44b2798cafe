"""Image archives as `docker load` and `ctr import` read them: written without an engine, or made repeatable.

The same files give the same bytes. What an engine adds to an image and differs in every build (times, names
of its own objects) is left out.
"""

import hashlib
import io
import json
import platform
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_cluster.container_node.settings import PAUSE_IMAGE

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_EPOCH = "1970-01-01T00:00:00Z"
_RUNNING = ("User", "ExposedPorts", "Env", "Entrypoint", "Cmd", "WorkingDir", "Labels")
"""The part of an image's configuration that decides how it runs."""


def write_archive(
    file: Path,
    names: Sequence[str],
    programs: Mapping[str, bytes],
    links: Mapping[str, str],
    command: Sequence[str],
) -> None:
    """Write an archive with one image of all these names."""
    layer = _layer(programs, links)
    config = {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"Cmd": list(command), "Env": ["PATH=/bin"], "User": "65532"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(layer)}"]},
        "history": [{"created_by": "local_cluster"}],
    }
    _write(file, names, config, [layer])


def write_repeatable(source: Path, target: Path) -> None:
    """Write an archive of `docker save` again, with nothing that differs from build to build."""
    with tarfile.open(source) as archive:
        manifest, config = image_config(archive)
        layers = [_read(archive, name) for name in manifest["Layers"]]
    kept = {key: config["config"][key] for key in _RUNNING if config["config"].get(key)}
    history = [
        {key: step[key] for key in ("created_by", "empty_layer") if key in step}
        for step in config["history"]
    ]
    repeatable = {
        "architecture": config["architecture"],
        "os": config["os"],
        "created": _EPOCH,
        "config": kept,
        "rootfs": config["rootfs"],
        "history": [{"created": _EPOCH, **step} for step in history],
    }
    _write(target, manifest["RepoTags"], repeatable, layers)


def image_config(archive: tarfile.TarFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the manifest and the configuration of the only image of an archive."""
    (manifest,) = json.loads(_read(archive, "manifest.json"))
    return manifest, json.loads(_read(archive, manifest["Config"]))


def image_id(file: Path) -> str:
    """Return the ID of the image of an archive: the digest of its configuration."""
    with tarfile.open(file) as archive:
        manifest, _ = image_config(archive)
        return f"sha256:{_digest(_read(archive, manifest['Config']))}"


def file_of_image(file: Path, path: str) -> bytes:
    """Return a file of the last layer of an archive's image."""
    with tarfile.open(file) as archive:
        manifest, _ = image_config(archive)
        with tarfile.open(fileobj=io.BytesIO(_read(archive, manifest["Layers"][-1]))) as layer:
            return _read(layer, path)


def _write(
    file: Path, names: Sequence[str], config: Mapping[str, Any], layers: Sequence[bytes]
) -> None:
    encoded = json.dumps(config).encode()
    config_name = f"{_digest(encoded)}.json"
    layer_names = [f"{_digest(layer)}/layer.tar" for layer in layers]
    manifest = [{"Config": config_name, "RepoTags": list(names), "Layers": layer_names}]
    with tarfile.open(file, "w") as archive:
        _add(archive, config_name, encoded)
        for name, layer in zip(layer_names, layers, strict=True):
            _add(archive, name, layer)
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    stream = archive.extractfile(name)
    assert stream is not None, name
    with stream:
        return stream.read()


def write_busybox(file: Path, *names: str) -> None:
    """Write the image of Debian's static busybox: it sleeps unless it is given a command.

    It is also the sandbox of each pod, whose only task is to exist.
    """
    found = shutil.which("busybox")
    assert found is not None, "it was looked for before"
    applets = ("sh", "sleep", "cat", "echo", "true", "false", "id", "dd", "head", "tail")
    links = {f"bin/{applet}": "busybox" for applet in applets}
    programs = {"bin/busybox": Path(found).read_bytes()}
    # As the first process of a container, only a shell with a trap ends when it is asked to.
    sleep = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; sleep infinity & wait"]
    write_archive(file, [PAUSE_IMAGE, *names], programs, links, sleep)


def _layer(programs: Mapping[str, bytes], links: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        for folder in ("bin", "tmp"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            layer.addfile(entry)
        for name, content in programs.items():
            _add(layer, name, content, mode=0o755)
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            layer.addfile(entry)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
