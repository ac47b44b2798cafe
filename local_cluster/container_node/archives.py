"""Image archives without an engine: one layer of given files, as `docker load` and `ctr import` read.

The same files give the same bytes.
"""

import hashlib
import io
import json
import platform
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_cluster.container_node.settings import PAUSE_IMAGE

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write_archive(
    file: Path,
    names: Sequence[str],
    programs: Mapping[str, bytes],
    links: Mapping[str, str],
    command: Sequence[str],
) -> None:
    """Write an archive with one image of all these names."""
    layer = _layer(programs, links)
    digest = hashlib.sha256(layer).hexdigest()
    config = json.dumps(
        {
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "os": "linux",
            "config": {"Cmd": list(command), "Env": ["PATH=/bin"], "User": "65532"},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created_by": "local_cluster"}],
        }
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    layer_name = f"{digest}/layer.tar"
    manifest = [{"Config": config_name, "RepoTags": list(names), "Layers": [layer_name]}]
    with tarfile.open(file, "w") as archive:
        for name, content in (
            (config_name, config),
            (layer_name, layer),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            _add(archive, name, content)


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
