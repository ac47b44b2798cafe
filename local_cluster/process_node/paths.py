"""Where a container's absolute paths are on this machine.

There is no mount namespace: a volume that is mounted at /a/b appears at <container root>/a/b,
and every place in a command line or an environment value that names /a/b, or something below
it, is rewritten to that. Only whole path segments count, and text is rewritten in one pass, so
that a replacement is never itself replaced.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

# A path begins where no other path could go on, and ends where its last segment ends.
BEFORE, AFTER = r"(?<![\w./-])", r"(?![\w-]|\.\w)"


def inside(root: Path, path: str) -> Path:
    """The place under `root` of an absolute path of the container; it cannot leave `root`."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return root.joinpath(*parts)


def path_rewriter(root: Path, mount_paths: Iterable[str]) -> Callable[[str], str]:
    """A function that rewrites the mount paths in a text to where they are under `root`."""
    known = sorted({path.rstrip("/") for path in mount_paths} - {""})
    if not known:
        return lambda text: text
    pattern = re.compile(BEFORE + "(" + "|".join(map(re.escape, known)) + ")" + AFTER)
    return lambda text: pattern.sub(lambda found: str(inside(root, found[1])), text)


def working_directory(root: Path, path: str | None) -> Path:
    """A container's `workingDir` under its root; the root itself when it has none."""
    return inside(root, path or "/")
