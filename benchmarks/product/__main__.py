"""`python -m benchmarks.product [--backend NAME] [--quick] ...`: measure, print and store the figures."""

import argparse
import asyncio
import dataclasses
import sys
import tempfile
from pathlib import Path

from benchmarks.product.choices import CHOICES, DEFAULT, BackendUnderTest
from benchmarks.product.clusters import fresh_cluster
from benchmarks.product.measures import medians
from benchmarks.product.report import figures, flatness
from benchmarks.product.report_backend import backend_flatness
from benchmarks.product.results import Deployed
from benchmarks.product.scenario import Scenario
from benchmarks.product.updating import update_figures
from benchmarks.product.workload import QUICK, Sizes
from benchmarks.runtime.figures import Figure, render, write

RESULTS = Path("build") / "bench.json"
_LARGER = 4


def main(arguments: list[str] | None = None) -> None:
    """Run everything. The table marks missed targets; the exit code does not, because machines differ."""
    options = _options(arguments)
    sizes = QUICK if options.quick else Sizes()
    if options.replicas is not None:
        sizes = dataclasses.replace(sizes, replicas=options.replicas)
    runs: list[list[Figure]] = []
    for number in range(options.repeat):
        choice = CHOICES[options.backend]
        if options.update:
            with tempfile.TemporaryDirectory(prefix="bench-") as directory:
                runs.append(update_figures(choice, sizes, Path(directory)))
        else:
            runs.append(measure(choice, sizes, flat=options.flat))
        if options.repeat > 1:
            sys.stdout.write(f"\nrun {number + 1} of {options.repeat}\n{render(runs[-1])}\n\n")
    found = medians(runs)
    write(found, options.output)
    sys.stdout.write(f"\n{render(found)}\n\nwritten to {options.output}\n")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.product", description=__doc__)
    parser.add_argument(
        "--backend",
        choices=CHOICES,
        default=DEFAULT.name,
        help="backend of the gangs; stand-in measures core alone (%(default)s)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a small run, as a test of the benchmark"
    )
    parser.add_argument("--replicas", type=_positive, help="gangs of the big set (500)")
    parser.add_argument(
        "--flat", action="store_true", help="also measure a set four times as large"
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="measure only the update of 200 gangs, which takes minutes",
    )
    parser.add_argument(
        "--repeat",
        type=_positive,
        default=1,
        help="number of runs, of which medians are reported (1)",
    )
    parser.add_argument(
        "--output", type=Path, default=RESULTS, help=f"file of the figures ({RESULTS})"
    )
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def measure(choice: BackendUnderTest, sizes: Sizes, *, flat: bool) -> list[Figure]:
    """Return all figures."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        scenario = Scenario(choice, sizes, Path(directory))
        with fresh_cluster(sizes.nodes, choice) as cluster:
            product = asyncio.run(scenario.with_product(cluster))
        with fresh_cluster(sizes.nodes, choice) as cluster:
            bare = asyncio.run(scenario.without_product(cluster, product))
        found = figures(product, bare, choice, sizes)
        if flat:
            more = dataclasses.replace(sizes, replicas=sizes.replicas * _LARGER)
            found += _larger(dataclasses.replace(scenario, sizes=more), product.deployed, sizes)
    return found


def _larger(scenario: Scenario, small: Deployed, sizes: Sizes) -> list[Figure]:
    with fresh_cluster(sizes.nodes, scenario.choice) as cluster:
        large = asyncio.run(scenario.only_start(cluster))
    found = flatness(small, sizes, large, scenario.sizes)
    if small.backend is not None and large.backend is not None:
        found += backend_flatness(small.backend, sizes, large.backend, scenario.sizes)
    return found


if __name__ == "__main__":
    main()
