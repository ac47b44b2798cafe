"""`python -m benchmarks.runtime`: measure, print the table, keep the figures."""

import sys

import uvloop

from benchmarks.runtime import machinery, memory, syncing, watching, working, writing
from benchmarks.runtime.figures import Figure, render, write
from benchmarks.runtime.loopback import serving


async def _all(url: str) -> list[Figure]:
    return [
        *await watching.measure(url),
        *await writing.measure(url),
        *await working.measure(url),
    ]


def main() -> None:
    """Run everything; a missed target is marked in the table, since machines differ."""
    with serving() as url:
        figures = uvloop.run(_all(url))
    figures += memory.measure()
    figures += machinery.measure()
    figures += syncing.measure()
    write(figures)
    sys.stdout.write(render(figures) + "\n")


if __name__ == "__main__":
    main()
