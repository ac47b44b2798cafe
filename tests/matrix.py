"""`python -m tests.matrix [PART]... [--minutes N]`: the tests for `make test-matrix`, part by part.

A part is a Kubernetes minor or a scheduler with its programs, the product in real containers, gangs on
container hosts or on Slurm, the tests of the dashboard in a browser, or the fuzz tests with twenty
times as many cases. Parts that do not fit into the given minutes, or for which this machine lacks something, are
skipped. The last lines list the parts that passed, failed and were skipped. Failed tests run again,
because a deadline may pass on a busy machine; a second failure counts.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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

    @property
    def takes(self) -> float:
        """Minutes from now."""
        missing = [name for name in self.builds if not is_built(build_of(name))]
        return self.minutes + self.building * len(missing) / max(len(self.builds), 1)


# It needs a cluster of its own, and of some schedulers there can be only one.
_APART = "test_product_cluster"


def _sessions(scheduler: str, found: ExtraScheduler) -> tuple[str, ...]:
    if not found.fixed_ports:
        return (scheduler,)
    return f"{scheduler} and not {_APART}", f"{scheduler} and {_APART}"


_FUZZ = Part(
    "fuzz",
    ("fuzz",),
    (),
    8,
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
_SLURM = Part("slurm", ("slurm",), (), 25, 1, ("tests/backends/slurm", "-m", "matrix"), no_slurm)
_DOCKER = Part("docker", ("docker",), (), 8, 0, ("tests/backends/docker", "-m", "matrix"), missing)
_SSH = Part("ssh", ("ssh",), (), 5, 0, ("tests/backends/ssh", "-m", "matrix"), no_sshd)
PARTS = (
    _BROWSER,
    _CONTAINERS,
    _DOCKER,
    _SLURM,
    _SSH,
    *(
        Part(name, _sessions(name, found), (found.build,), 6, 5)
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
    ends = time.monotonic() + options.minutes * 60
    results: dict[str, str] = {}
    for part in (*PARTS, _REST):
        if options.parts and part.name not in options.parts:
            continue
        if reason := part.why_not():
            results[part.name] = f"skipped: {reason}"
            continue
        left = (ends - time.monotonic()) / 60
        if part.takes > left:
            results[part.name] = (
                f"skipped: it takes {part.takes:g} minutes, and {left:.0f} are left"
            )
            continue
        began = time.monotonic()
        passed = _run(part)
        took = (time.monotonic() - began) / 60
        results[part.name] = f"{'passed' if passed else 'FAILED'} in {took:.1f} minutes"
    for name, result in results.items():
        sys.stdout.write(f"matrix: {name}: {result}\n")
    return int(any(result.startswith("FAILED") for result in results.values()))


def _run(part: Part) -> bool:
    sys.stdout.write(f"\nmatrix: {part.name}\n")
    sys.stdout.flush()
    if part.builds:
        subprocess.run([sys.executable, "-m", "local_cluster", "build", *part.builds], check=True)
    if (
        part.prepare
        and subprocess.run([sys.executable, "-m", part.prepare], check=False).returncode
    ):
        return False
    failed = [selected for selected in part.selects if not _passes(part, selected)]
    return not failed


def _passes(part: Part, selected: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", *part.command, "-k", selected]
    environment = {**os.environ, **dict(part.environment)}
    code = subprocess.run(command, check=False, env=environment).returncode
    if code in (0, _NOTHING_COLLECTED):
        return True
    again = ["--last-failed", "--last-failed-no-failures", "none"]
    return subprocess.run([*command, *again], check=False, env=environment).returncode == 0


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
