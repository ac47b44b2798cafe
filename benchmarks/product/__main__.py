"""`python -m benchmarks.product [--quick] [--replicas N] [--flat]`: measure, print, keep the figures."""

import argparse
import asyncio
import dataclasses
import sys
import tempfile
from pathlib import Path

from benchmarks.product.clusters import fresh_cluster
from benchmarks.product.report import figures, flatness
from benchmarks.product.scenario import only_start, with_operator, without_operator
from benchmarks.product.workload import QUICK, Sizes
from benchmarks.runtime.figures import Figure, render, write

RESULTS = Path("build") / "bench.json"
_LARGER = 4


def main(arguments: list[str] | None = None) -> None:
    """Run everything; a missed target is marked in the table, since machines differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.product", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--replicas", type=int, help="gangs of the big set (500)")
    parser.add_argument("--flat", action="store_true", help="also a set four times as large")
    parser.add_argument("--output", type=Path, default=RESULTS, help=f"where to ({RESULTS})")
    options = parser.parse_args(arguments)
    sizes = QUICK if options.quick else Sizes()
    if options.replicas is not None:
        if options.replicas < 1:
            parser.error("--replicas: at least 1")
        sizes = dataclasses.replace(sizes, replicas=options.replicas)
    found = measure(sizes, flat=options.flat)
    write(found, options.output)
    sys.stdout.write(f"\n{render(found)}\n\nwritten to {options.output}\n")


def measure(sizes: Sizes, *, flat: bool) -> list[Figure]:
    """All figures."""
    more = dataclasses.replace(sizes, replicas=sizes.replicas * _LARGER)
    larger: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        recording = Path(directory) / "writes.jsonl"
        with fresh_cluster(sizes.nodes) as cluster:
            product = asyncio.run(with_operator(cluster, sizes, recording))
        with fresh_cluster(sizes.nodes) as cluster:
            uid = product.deployed.uid
            bare = asyncio.run(without_operator(cluster, sizes, recording, uid))
        if flat:
            with fresh_cluster(sizes.nodes) as cluster:
                large = asyncio.run(only_start(cluster, more, recording))
            larger = flatness(product.deployed, sizes, large, more)
    return [*figures(product, bare, sizes), *larger]


if __name__ == "__main__":
    main()
