"""A directory whose files change all at once.

The layout is the kubelet's: the files lie in a hidden directory, `..data` points to it, and
each name points through `..data`. An update writes a new hidden directory and renames one
link, so a reader sees the old set or the new set and never half a file.
"""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from local_cluster.process_node.projection import File

DATA = "..data"


def publish(directory: Path, files: Mapping[str, File]) -> bool:
    """Make `directory` hold exactly `files`; return whether anything had to change."""
    directory.mkdir(parents=True, exist_ok=True)
    link = directory / DATA
    current = link.resolve() if link.is_symlink() else None
    if current is not None and _same(current, files):
        return False
    fresh = Path(tempfile.mkdtemp(prefix="..", dir=directory))
    for name, file in files.items():
        _write(fresh / name, file)
    _point(link, fresh.name)
    top_level = {name.split("/", 1)[0] for name in files}
    for name in top_level:
        if not (directory / name).is_symlink():
            _point(directory / name, f"{DATA}/{name}")
    for entry in directory.iterdir():
        if _ours(entry) and entry.name not in top_level:
            entry.unlink()
    if current is not None:
        shutil.rmtree(current)
    return True


def _same(current: Path, files: Mapping[str, File]) -> bool:
    present = {str(path.relative_to(current)) for path in current.rglob("*") if path.is_file()}
    return present == set(files) and all(
        (current / name).read_bytes() == file.data for name, file in files.items()
    )


def _write(path: Path, file: File) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.data)
    path.chmod(file.mode)


def _point(link: Path, target: str) -> None:
    staged = link.with_name(f"..staged-{link.name}")
    staged.unlink(missing_ok=True)
    staged.symlink_to(target)
    staged.replace(link)


def _ours(entry: Path) -> bool:
    return entry.is_symlink() and entry.readlink().parts[0] == DATA
