"""The files of the page: its modules, or the bundle that was built from exactly these modules.

It owns the choice between the two. A bundle of other modules is never served: it is left over from before a
change. So the page is always that of this version, also where no bundle was built.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

MODULES = Path(__file__).parent / "page"
BUNDLE = Path(__file__).parent / "bundle"
MARK = "modules.sha256"
"""A file of the bundle: the digest of the modules that it was built from."""


def page(modules: Path = MODULES, bundle: Path = BUNDLE) -> Mapping[str, bytes]:
    """Return the content of each file that the browser loads, by name."""
    found = contents(modules)
    mark = bundle / MARK
    if mark.is_file() and mark.read_text() == digest(found):
        return {name: body for name, body in contents(bundle).items() if name != MARK}
    return found


def contents(folder: Path) -> Mapping[str, bytes]:
    """Return the content of each file in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def digest(modules: Mapping[str, bytes]) -> str:
    """Return what differs between two versions of the modules."""
    found = hashlib.sha256()
    for name, body in sorted(modules.items()):
        found.update(f"{name} {len(body)}\n".encode() + body)
    return found.hexdigest()
