"""`python -m tests.matrix [PART]... [--minutes N]`: the tests for `make test-matrix`, part by part.

A part is a Kubernetes minor or a scheduler with its programs, the product in real containers, gangs on
container hosts or on Slurm, the tests of the dashboard in a browser, or the fuzz tests with twenty
times as many cases. Parts that do not fit into the given minutes, or for which this machine lacks something, are
skipped. The last lines list the parts that passed, failed and were skipped. Failed tests run again,
because a deadline may pass on a busy machine; a second failure counts.

Most tests wait for a scheduler or for a timeout, so two parts run side by side: one that only starts
clusters, and one that needs engines, network namespaces or Slurm of this machine, of which there can be
only one. The output of a part appears as a whole when it ends. A part that is named alone prints at once.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO

from local_cluster.building.builder import is_built
from local_cluster.building.programs import build_of
from local_cluster.schedulers import EXTRA_SCHEDULERS
from local_cluster.schedulers.extra import ExtraScheduler
from local_cluster.versions import DEFAULT_MINOR, MINORS
from tests.backends.docker.engines import missing
from tests.backends.slurm.lab import missing as no_slurm
from tests.backends.ssh.hosts import missing as no_sshd
from tests.containers.kit import missing as no_containers
from tests.dashboard.browser import REQUIRED
from tests.dashboard.install_browser import why_no_browser

_NOTHING_COLLECTED = 5


@dataclass(frozen=True, slots=True)
class Part:
    """Tests that are selected by their names or parameters."""

    name: str
    selects: tuple[str, ...]
    """Each is a session of its own."""
    builds: tuple[str, ...]
    minutes: float
    """That its tests take on two cores, once everything is built."""
    building: float
    """That building takes on two cores, if nothing of it is built."""
    command: tuple[str, ...] = ("-m", "matrix")
    """How pytest finds the tests from which it selects."""
    why_not: Callable[[], str] = str
    """Return what this machine lacks for it, or nothing."""
    prepare: str = ""
    """Module that installs what the tests need."""
    environment: tuple[tuple[str, str], ...] = ()
    needs_machine: bool = False
    """Whether it uses engines, namespaces or daemons of this machine, and runs beside no other that does."""

    @property
    def takes(self) -> float:
        """Minutes from now."""
        missing = [name for name in self.builds if not is_built(build_of(name))]
        return self.minutes + self.building * len(missing) / max(len(self.builds), 1)


# It needs a cluster of its own, and of some schedulers there can be only one.
_APART = "test_product_cluster"


# Tests of a far side may fall back to a scheduler; they belong to the part of the far side.
_FAR_SIDES = "not (docker or slurm or ssh)"


def _sessions(scheduler: str, found: ExtraScheduler) -> tuple[str, ...]:
    selected = f"{scheduler} and {_FAR_SIDES}"
    if not found.fixed_ports:
        return (selected,)
    return f"{selected} and not {_APART}", f"{selected} and {_APART}"


_FUZZ = Part(
    "fuzz",
    ("fuzz",),
    (),
    28,
    0,
    ("tests/fuzz", "-m", "not cluster", "--hypothesis-profile=many", "--timeout=3000", "-n2"),
)
_CONTAINERS = Part(
    "containers",
    ("containers",),
    # All that its tests start: a test must not spend its time on building.
    (f"kubernetes-{DEFAULT_MINOR}", "kai", "helm", "kubelet"),
    14,
    20,
    ("tests/containers", "-m", "matrix"),
    no_containers,
    needs_machine=True,
)
_BROWSER = Part(
    "browser",
    ("dashboard",),
    ("kubernetes-" + DEFAULT_MINOR, "kwok"),
    4,
    10,
    ("tests/dashboard", "-m", "browser"),
    why_no_browser,
    prepare="tests.dashboard.install_browser",
    # Without a browser these tests fail here instead of being skipped.
    environment=((REQUIRED, "1"),),
)
_SLURM = Part(
    "slurm",
    ("slurm",),
    (),
    28,
    1,
    ("tests/backends/slurm", "-m", "matrix"),
    no_slurm,
    needs_machine=True,
)
_DOCKER = Part(
    "docker",
    ("docker",),
    (),
    8,
    0,
    ("tests/backends/docker", "-m", "matrix"),
    missing,
    needs_machine=True,
)
_SSH = Part(
    "ssh",
    ("ssh",),
    (),
    5,
    0,
    ("tests/backends/ssh", "-m", "matrix"),
    no_sshd,
    needs_machine=True,
)
PARTS = (
    _BROWSER,
    _CONTAINERS,
    _DOCKER,
    _SLURM,
    _SSH,
    *(
        Part(name, _sessions(name, found), (found.build,), 8, 5)
        for name, found in EXTRA_SCHEDULERS.items()
    ),
    *(
        Part(minor, (minor,), (f"kubernetes-{minor}",), 4, 8)
        for minor in reversed(MINORS)
        if minor != DEFAULT_MINOR
    ),
    _FUZZ,
)
_REST = Part("others", (" and ".join(f"not {part.name}" for part in PARTS),), (), 4, 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts; 1 if one of them failed."""
    options = _options(arguments)
    run = MatrixRun(time.monotonic() + options.minutes * 60, at_once=len(options.parts) == 1)
    wanted = [part for part in (*PARTS, _REST) if not options.parts or part.name in options.parts]
    lanes = (
        [part for part in wanted if not part.needs_machine],
        [part for part in wanted if part.needs_machine],
    )
    with ThreadPoolExecutor(len(lanes)) as pool:
        # A defect of this program ends it; a part that fails does not end the others.
        list(pool.map(run.each, lanes))
    for part in wanted:
        sys.stdout.write(f"matrix: {part.name}: {run.results[part.name]}\n")
    return int(any(result.startswith("FAILED") for result in run.results.values()))


@dataclass(slots=True)
class MatrixRun:
    """One run of the matrix; several threads use it."""

    ends: float
    at_once: bool
    """Whether output appears while a part runs."""
    results: dict[str, str] = field(default_factory=dict)
    printing: threading.Lock = field(default_factory=threading.Lock)

    def each(self, parts: Sequence[Part]) -> None:
        """Run parts one after the other, as far as the time allows."""
        for part in parts:
            self.results[part.name] = self._result(part)

    def _result(self, part: Part) -> str:
        if reason := part.why_not():
            return f"skipped: {reason}"
        left = (self.ends - time.monotonic()) / 60
        if part.takes > left:
            return f"skipped: it takes {part.takes:g} minutes, and {left:.0f} are left"
        self._print(f"matrix: {part.name} runs, for about {part.takes:.0f} minutes\n")
        began = time.monotonic()
        passed = self._passes(part)
        took = (time.monotonic() - began) / 60
        return f"{'passed' if passed else 'FAILED'} in {took:.1f} minutes"

    def _passes(self, part: Part) -> bool:
        if self.at_once:
            return _run(part, None)
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            passed = _run(part, output)
            output.seek(0)
            self._print(f"\nmatrix: {part.name}\n{output.read()}")
        return passed

    def _print(self, text: str) -> None:
        with self.printing:
            sys.stdout.write(text)
            sys.stdout.flush()


def _run(part: Part, output: IO[str] | None) -> bool:
    def code_of(*command: str) -> int:
        environment = {**os.environ, **dict(part.environment)}
        return subprocess.run(
            [sys.executable, "-m", *command],
            check=False,
            env=environment,
            stdout=output,
            stderr=output,
        ).returncode

    def passes(selected: str) -> bool:
        # A cache of its own: the part beside it remembers its failed tests, too.
        cache = f"cache_dir=.pytest_cache/matrix-{part.name}"
        command = ("pytest", "-q", "-o", cache, *part.command, "-k", selected)
        if code_of(*command) in (0, _NOTHING_COLLECTED):
            return True
        again = ("--last-failed", "--last-failed-no-failures", "none")
        return code_of(*command, *again) == 0

    if part.builds and code_of("local_cluster", "build", *part.builds):
        return False
    if part.prepare and code_of(part.prepare):
        return False
    failed = [selected for selected in part.selects if not passes(selected)]
    return not failed


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = [part.name for part in (*PARTS, _REST)]
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(names)} (all)")
    parser.add_argument(
        "--minutes", type=float, default=600.0, help="minutes that it may take (%(default)g)"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(names):
        parser.error(
            f"there is no part {', '.join(sorted(unknown))}; choose from {', '.join(names)}"
        )
    return options


if __name__ == "__main__":
    sys.exit(main())
