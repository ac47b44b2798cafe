"""A cluster for long runs, with the product's processes, and a client that watches it.

The operator is a process of its own, so that its memory is its own and it can be killed; it is
started again under the same settings. Its log is kept over all its lives.
"""

import contextlib
import json
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from benchmarks.product.choices import DEFAULT
from benchmarks.product.clusters import fresh_cluster
from benchmarks.product.processes import ClusterPlace, ControllerProcess
from benchmarks.product.workload import NAMESPACE
from local_cluster.cluster import Cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.resources import CONTROLLER_REVISIONS, RESOURCE_CLAIMS
from tests.core.kit import Onlooker

NODES = 30
KINDS = (
    "podcliquesets,podcliques,podcliquescalinggroups,podgangs,pods,services,controllerrevisions,"
    "horizontalpodautoscalers,resourceclaims,workloads,podgroups"
)
_VIOLATIONS = re.compile(r"^grove_invariant_violations_total\{[^}]*\} (\S+)$", re.MULTILINE)
_RESIDENT = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


class Bed:
    """One long run."""

    def __init__(self, cluster: Cluster, place: ClusterPlace, person: Onlooker) -> None:
        self.cluster = cluster
        self.person = person
        self.violations = 0.0
        """Deletions that the operator itself refused, over all its lives."""
        self._place = place
        self._core: ControllerProcess | None = None
        self._life = contextlib.AsyncExitStack()

    @property
    def core(self) -> ControllerProcess:
        """The operator that runs now."""
        assert self._core is not None
        return self._core

    async def start(self) -> None:
        """Start the operator."""
        self._core = await self._life.enter_async_context(self._place.controller("core_operator"))

    async def stop(self) -> None:
        """End the operator by SIGTERM; add its counters to those of earlier processes."""
        counted = _VIOLATIONS.findall(await self.core.page())
        self.violations += sum(map(float, counted))
        await self._life.aclose()

    async def restart(self) -> None:
        """End the operator and start it again."""
        await self.stop()
        await self.start()

    def resident(self) -> float:
        """Memory of the operator in MiB."""
        status = Path(f"/proc/{self.core.pid}/status").read_text()
        (kibibytes,) = _RESIDENT.findall(status)
        return int(kibibytes) / 1024

    def complaints(self) -> list[str]:
        """Lines of the operator's log that report an error or a defect."""
        found = []
        for line in (self._place.directory / "core_operator.log").read_text().splitlines():
            try:
                level = json.loads(line).get("level")
            except ValueError:
                level = "error"
            if level in ("error", "critical"):
                found.append(line)
        return found

    def leftovers(self) -> list[str]:
        """What is left in the namespace."""
        listing = ("get", KINDS, f"--namespace={NAMESPACE}", "--output=name")
        return self.cluster.kubectl(*listing).stdout.split()


@contextlib.asynccontextmanager
async def laid(cluster: Cluster, directory: Path) -> AsyncIterator[Bed]:
    """One long run on a cluster, with the backend and the operator running."""
    place = ClusterPlace(cluster.kubeconfig, directory)
    async with (
        Client(from_kubeconfig(cluster.kubeconfig)) as client,
        Onlooker(client, NAMESPACE, (RESOURCE_CLAIMS, CONTROLLER_REVISIONS)).watching() as person,
        place.controller("backend_controllers", "--backend", DEFAULT.name),
    ):
        bed = Bed(cluster, place, person)
        await bed.start()
        try:
            yield bed
        finally:
            await bed.stop()


@contextlib.contextmanager
def ground() -> Iterator[tuple[Cluster, Path]]:
    """A cluster of its own, and a directory for files."""
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as directory,
        fresh_cluster(NODES, DEFAULT) as cluster,
    ):
        yield cluster, Path(directory)


def say(line: str) -> None:
    """Signal the end to the waiting tasks."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
