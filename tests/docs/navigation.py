"""The navigation of the site in mkdocs.yml, made from the pages that there are.

`python -m tests.docs.navigation` writes it, with `--check` it fails if it is stale. Pages of
a folder come in the order of their names; a page that has no place yet comes last, so that none
can be forgotten.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import write_or_check

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FILE = ROOT / "mkdocs.yml"

FIRST = ("index", "quickstart", "compatibility", "concepts")
SECTIONS = {
    "Workloads": (
        "topology",
        "placement",
        "startup-order",
        "autoscaling",
        "updates",
        "resource-sharing",
        "jobs",
    ),
    "Operating": (
        "operating",
        "cli",
        "dashboard",
        "monitoring",
        "performance",
        "security",
        "migrating-from-grove",
        "grove-compatibility",
        "releases",
    ),
    "Schedulers": ("backends/*",),
    "Reference": ("reference/*",),
    "Runbooks": ("runbooks/*",),
    "Inside": ("architecture", "writing-a-controller", "local-cluster", "*"),
    "Decisions": ("decisions/*",),
}


def render() -> str:
    """The file: what stands before the navigation, and the navigation."""
    head, mark, _ = FILE.read_text().partition("\nnav:\n")
    assert mark, "mkdocs.yml has no nav"
    return head + mark + "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    placed = [*FIRST]
    named = {page for pages in SECTIONS.values() for page in pages}
    yield from (f"  - {_entry(page)}" for page in FIRST)
    for section, patterns in SECTIONS.items():
        found = [page for pattern in patterns for page in _pages(pattern)]
        # The last resort takes what no other section names.
        shown = [
            page
            for page in dict.fromkeys(found)
            if page not in placed and (page in patterns or page not in named)
        ]
        if shown:
            yield f"  - {section}:"
            yield from (f"      - {_entry(page)}" for page in shown)
            placed += shown


def _pages(pattern: str) -> list[str]:
    found = sorted(DOCS.glob(f"{pattern}.md"))
    return [path.relative_to(DOCS).with_suffix("").as_posix() for path in found]


def _entry(page: str) -> str:
    text = (DOCS / f"{page}.md").read_text()
    title = re.search(r"^# (.*)$", text, re.MULTILINE)
    assert title is not None, f"{page} has no title"
    plain = title[1].replace("`", "").replace('"', "'")
    return f'"{plain}": {page}.md'


if __name__ == "__main__":
    sys.exit(write_or_check(FILE, render(), "tests.docs.navigation"))
