"""One operator, one backend and one watching person for all tests of a module."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from core_operator.settings import CoreSettings
from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import fresh_namespace
from shared_api import names
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject
from shared_api.kube.errors import NotFound
from shared_api.kube.resources import PODS, Resource
from tests.core.kit import Object, Onlooker, Operator, clique, is_ready, pcs, running_operator
from tests.core.schedulers import DEFAULT, Chooser, Scheduled

PATIENCE = 60.0
GROUP = {"name": "sg", "cliqueNames": ["b", "c"], "replicas": 2, "minAvailable": 2}


class Stage:
    """What tests of a module share; sets and their pods are told apart by the set's name."""

    def __init__(
        self, cluster: Cluster, person: Onlooker, settings: CoreSettings | None = None
    ) -> None:
        self.cluster = cluster
        self.settings = settings
        self.person = person
        self.operator: Operator
        self._running = contextlib.AsyncExitStack()

    async def start(self) -> None:
        self.operator = await self._running.enter_async_context(
            running_operator(self.cluster, self.settings)
        )

    async def stop(self) -> None:
        violations = self.operator.metric(
            "grove_invariant_violations_total", invariant="min_available"
        )
        await self._running.aclose()
        assert violations == 0

    def pods(self, of: str) -> list[LooseObject]:
        """The pods of a set that stay, by name."""
        return [pod for pod in self.person.pods if pod.metadata.labels[names.LABEL_PART_OF] == of]

    def uids(self, of: str) -> dict[str, set[str]]:
        """The UIDs of a set's pods by PodClique."""
        found = defaultdict(set)
        for pod in self.pods(of):
            found[pod.metadata.labels[names.LABEL_PODCLIQUE]].add(pod.metadata.uid)
        return dict(found)

    async def until(self, condition: Callable[[], object]) -> None:
        await self.person.until(condition, PATIENCE)

    async def until_true(self, question: Callable[[], Awaitable[bool]]) -> None:
        """Ask something of the server until it says yes; for what no watch tells."""
        async with asyncio.timeout(PATIENCE):
            while not await question():  # noqa: ASYNC110 - nobody announces it
                await asyncio.sleep(0.2)

    async def until_ready(self, of: str, count: int) -> None:
        await self.until(lambda: len(self.pods(of)) == count and all(map(is_ready, self.pods(of))))

    async def until_updated(self, of: str, count: int, mark: str) -> None:
        """Wait until so many pods are ready, all of the template with this mark, and it is told."""
        await self.until(
            lambda: (
                len(found := self.pods(of)) == count
                and all(map(is_ready, found))
                and all(mark_of(pod) == mark for pod in found)
                and is_ended(self.person.get(SETS, of))
            )
        )

    async def change(self, of: str, cliques: list[Object], **spec: Any) -> None:
        """Replace the cliques of a set, as somebody who applies a new manifest does."""
        body = {"spec": {"template": {"cliques": cliques}, **spec}}
        await self.person.change(SETS, of, body)

    async def remove(self, of: str) -> None:
        found = self.person.get(SETS, of)
        if found is not None:
            await self.person.delete(found, SETS)
        await self.until(lambda: not self.pods(of))

    async def sicken(self, pod: LooseObject) -> None:
        """Have a pod's container run and not be ready."""
        await self._report(pod, ready=False)

    async def heal(self, pod: LooseObject) -> None:
        await self._report(pod, ready=True)

    async def _report(self, pod: LooseObject, *, ready: bool) -> None:
        conditions = [
            {**entry, "status": str(ready)} if entry["type"] == "Ready" else entry
            for entry in pod.status["conditions"]
        ]
        containers = [
            {**status, "ready": ready, "started": True}
            for status in pod.status["containerStatuses"]
        ]
        body = {"conditions": conditions, "containerStatuses": containers}
        await self.person.change_status(PODS, pod.metadata.name, body)


@contextlib.asynccontextmanager
async def on_stage(
    cluster: Cluster,
    *,
    also: Sequence[Resource] = (),
    settings: CoreSettings | None = None,
    scheduled: Scheduled = DEFAULT,
) -> AsyncIterator[Stage]:
    """A stage in a namespace of its own; the person watches other kinds too if asked."""
    with fresh_namespace(cluster) as namespace:
        async with (
            Client(from_kubeconfig(cluster.kubeconfig)) as client,
            scheduled.serving(cluster, client),
            Chooser(client, namespace, also).watching() as person,
        ):
            assert isinstance(person, Chooser)
            person.chosen = scheduled
            stage = Stage(cluster, person, settings)
            await stage.start()
            try:
                yield stage
                for item in person.all(SETS):
                    # A test may have deleted it just before; the watch tells that later.
                    with contextlib.suppress(NotFound):
                        await person.delete(item, SETS)
                await stage.until(lambda: not person.pods)
            finally:
                await stage.stop()


class Witness:
    """Sees every state that the pods of a set were in, and keeps the worst."""

    def __init__(self, stage: Stage, of: str) -> None:
        self._stage = stage
        self._of = of
        self._places: dict[str, LooseObject] = {}
        self._whole = self._ready()
        self.lowest = dict(self._whole)
        """The fewest ready pods that each PodClique had."""
        self.replicas_down = 0
        """The most replicas that were not whole at once."""
        self.copies_down = 0
        """The most copies of one group that were not whole at once."""
        stage.person._caches[PODS.plural].subscribe(self._on_pod)

    def _ready(self) -> dict[str, int]:
        counts: dict[str, int] = defaultdict(int)
        for pod in self._stage.pods(self._of):
            counts[pod.metadata.labels[names.LABEL_PODCLIQUE]] += is_ready(pod)
            self._places.setdefault(pod.metadata.labels[names.LABEL_PODCLIQUE], pod)
        return dict(counts)

    def _on_pod(self, old: LooseObject | None, new: LooseObject | None) -> None:
        now = self._ready()
        down = [name for name, count in self._whole.items() if now.get(name, 0) < count]
        for name in self._whole:
            self.lowest[name] = min(self.lowest[name], now.get(name, 0))
        labels = [self._places[name].metadata.labels for name in down]
        replicas = {found[names.LABEL_PCS_REPLICA_INDEX] for found in labels}
        copies: dict[str, set[str]] = defaultdict(set)
        for found in labels:
            if names.LABEL_PCSG in found:
                copies[found[names.LABEL_PCSG]].add(found[names.LABEL_PCSG_REPLICA_INDEX])
        self.replicas_down = max(self.replicas_down, len(replicas))
        self.copies_down = max(self.copies_down, *(len(of) for of in copies.values()), 0)


def marked(mark: str, *which: str, **pod_spec: Any) -> list[Object]:
    """The cliques of the usual workload; those named (or all) have this mark in their template."""
    found = [clique("a", 2), clique("b", 1), clique("c", 1)]
    for one in found:
        if not which or one["name"] in which:
            set_mark(one, mark, **pod_spec)
    return found


def set_mark(one: Object, mark: str, **pod_spec: Any) -> Object:
    spec = one["spec"]["podSpec"]
    spec["containers"][0]["image"] = f"registry.example.com/app:{mark}"
    spec.update(pod_spec)
    return one


def mark_of(pod: LooseObject) -> str:
    return str(pod.spec["containers"][0]["image"]).rsplit(":", 1)[1]


def workload(name: str, replicas: int = 1, **template: Any) -> Object:
    """Two `a`, and two copies of one `b` with one `c`: six pods, all of them needed."""
    groups = template.pop("groups", [GROUP])
    cliques = template.pop("cliques", marked("1"))
    return pcs(name, *cliques, replicas=replicas, podCliqueScalingGroups=groups, **template)


def progress(item: LooseObject | None) -> Object:
    return dict(item.status.get("updateProgress") or {}) if item is not None else {}


def is_ended(item: LooseObject | None) -> bool:
    return "updateEndedAt" in progress(item)
