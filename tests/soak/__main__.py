"""`python -m tests.soak [--chaos] [--minutes 30] [--seed N]`: long runs on a cluster of their own."""

import argparse
import asyncio
import secrets
import sys
from pathlib import Path

from local_cluster.cluster import Cluster
from tests.soak.bed import ground, laid
from tests.soak.chaos import chaos
from tests.soak.churn import soak


async def _run(cluster: Cluster, directory: Path, options: argparse.Namespace) -> list[str]:
    async with laid(cluster, directory) as bed:
        if options.chaos:
            return await chaos(bed, options.minutes * 60, options.seed)
        return await soak(bed, options.minutes * 60)


def main() -> int:
    """Run; 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="minutes to run (%(default)g)")
    parser.add_argument("--chaos", action="store_true", help="change and break things at random")
    parser.add_argument(
        "--seed",
        type=int,
        default=secrets.randbelow(10**6),
        help="seed of --chaos, to repeat a run",
    )
    options = parser.parse_args()
    # Starting a cluster runs an event loop of its own.
    with ground() as (cluster, directory):
        problems = asyncio.run(_run(cluster, directory, options))
    for problem in problems:
        sys.stdout.write(f"WRONG: {problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
