"""Generated pages: written, or compared with what they should be."""

import sys
from pathlib import Path


def write_or_check(
    page: Path, content: str, module: str, arguments: list[str] | None = None
) -> int:
    """Write a page, or with `--check` fail if it is stale; return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given != ["--check"]:
        page.write_text(content)
        return 0
    if page.exists() and page.read_text() == content:
        return 0
    sys.stderr.write(f"{page.name} is stale; run: python -m {module}\n")
    return 1
