"""`python -m benchmarks.command_line`: measure, print the table, keep the figures.

Each verb is a process of its own, from its start to its exit, as people see it. The best of several
runs counts, because the server's own speed varies more than what is measured.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from benchmarks.command_line.population import SPACE, Size, fill
from benchmarks.runtime.figures import Figure, render, write
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.lifecycle import down, up
from shared_api.kube.client import Client

_ROOT = Path(__file__).parents[2]
_TURNS = 5
_TARGET = 2.0
_RESULTS = Path("build") / "bench-command-line.json"
_VERBS = {
    "status of all namespaces": ("status", "-A"),
    "why of a gang that waits": ("why", "set-1", "-n", SPACE),
    "tree of a set": ("tree", "set-1", "-n", SPACE),
    "topology by rack": ("topology", "local-cluster/rack"),
}


def main() -> None:
    """Run everything; a missed target is marked in the table, since machines differ."""
    parser = argparse.ArgumentParser(prog="benchmarks.command_line")
    parser.add_argument("--pods", type=int, default=Size.pods)
    size = Size(parser.parse_args().pods)
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        options = ClusterOptions(parts="api")
        cluster = up(options, name="cli", directory=Path(directory) / "cli", leashed=True)
        try:
            figures = _measure(cluster, size)
        finally:
            down(cluster)
    write(figures, _RESULTS)
    sys.stdout.write(render(figures) + "\n")


def _measure(cluster: Cluster, size: Size) -> list[Figure]:
    cluster.install_crds(_ROOT / "crds")
    uvloop.run(_fill(cluster.kubeconfig, size))
    start, _ = _best(cluster, ("--help",))
    figures = [Figure("start of the program (--help)", start, "s")]
    for what, words in _VERBS.items():
        seconds, cpu = _best(cluster, words)
        name = f"{what}: {size.pods:,} pods, {size.sets:,} gangs, {size.nodes:,} nodes"
        figures.append(Figure(name, seconds, "s", _TARGET))
        figures.append(Figure("- its own CPU", cpu, "s"))
    return figures


def _best(cluster: Cluster, words: tuple[str, ...]) -> tuple[float, float]:
    """Return the shortest time and the least CPU of several runs."""
    runs = [_run(cluster, words) for _ in range(_TURNS)]
    return min(seconds for seconds, _ in runs), min(cpu for _, cpu in runs)


async def _fill(kubeconfig: Path, size: Size) -> None:
    async with Client.from_kubeconfig(kubeconfig) as client:
        await fill(client, size)


def _run(cluster: Cluster, words: tuple[str, ...]) -> tuple[float, float]:
    """Run a verb; return its time from start to exit, and its CPU."""
    before, began = _cpu_of_children(), time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "gangctl", *words],
        env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    if done.returncode > 1:
        raise SystemExit(f"{' '.join(words)} failed: {done.stderr}")
    return seconds, _cpu_of_children() - before


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
