"""A stage on which real KAI plays: nodes of its own, gangs with prepared pods, and live facts."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable
from typing import Any

from backend_controllers.contract.declaration import Dialect, Rendered, Report, Served
from backend_controllers.kai import BACKEND
from backend_controllers.kai.api import (
    PODGROUPS,
    QUEUES,
    KaiPodGroup,
    pod_group_name,
)
from backend_controllers.kai.installation import KaiOptions
from local_cluster.simulation.nodes import simulated_node
from shared_api import names
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import CRDS, NODES, PODS, Resource
from shared_api.models import PodPatch
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target, Written, controlled_by
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import identity
from shared_api.runtime.watching.predicates import Watched
from shared_api.runtime.watching.reflector import Reflector, Source

Object = dict[str, Any]
GANGS = Resource(names.SCHEDULER_GROUP, names.VERSION, "podgangs", "PodGang")
PERSON = "person"
DEADLINE = 60.0


async def spoken(client: Client) -> Dialect:
    """The dialect of the KAI that is installed."""
    resources, schemas = set(), {}
    for name in BACKEND.questions.definitions:
        definition = await client.get(CRDS, name, into=LooseObject)
        for version in definition.spec["versions"]:
            key = (
                definition.spec["group"],
                version["name"],
                definition.spec["names"]["plural"],
            )
            resources.add(key)
            schemas[key] = version["schema"]["openAPIV3Schema"]
    found = BACKEND.detect(Served(frozenset(resources), schemas), KaiOptions())
    assert isinstance(found, Dialect)
    return found


class LiveFacts:
    """The facts about a gang, from caches."""

    leaving: tuple[Pod, ...] = ()

    def __init__(self, stage: "Stage", gang: ObservedPodGang) -> None:
        self._caches = stage.caches
        everything = (pod for pod in stage.pods if not pod.metadata.is_terminating)
        name = gang.metadata.name
        self.pods = tuple(
            pod for pod in everything if pod.metadata.labels[names.LABEL_PODGANG] == name
        )

    def owned(self, resource: Resource) -> tuple[Watched, ...]:
        raise NotImplementedError

    def get(self, resource: Resource, namespace: str, name: str) -> Watched | None:
        return _projection(self._caches[resource].get(ObjectKey(namespace, name)))

    def all(self, resource: Resource) -> tuple[Watched, ...]:
        found = (_projection(value) for value in self._caches[resource])
        return tuple(value for value in found if value is not None)


def _projection(value: Watched | None) -> Watched | None:
    return value.object if isinstance(value, Applied) else value


class Stage:
    """One namespace on a cluster with KAI, and all that the dialect watches."""

    def __init__(self, client: Client, namespace: str, dialect: Dialect) -> None:
        self.client = client
        self.namespace = namespace
        self.dialect = dialect
        self.pods: Cache[Pod] = Cache()
        self.caches: dict[Resource, Cache[Any]] = {
            writes.resource: Cache() for writes in dialect.writes
        } | {reads.resource: Cache() for reads in dialect.reads}
        self._changed = asyncio.Event()
        self._applier = Applier(client, "backend/kai", PendingWrites(), Telemetry())
        self._passing: list[tuple[Resource, str]] = []

    @contextlib.asynccontextmanager
    async def playing(self) -> AsyncIterator["Stage"]:
        sources: list[tuple[Cache[Any], Source[Any]]] = [
            (self.pods, Source(PODS, Pod, self.namespace))
        ]
        for writes in self.dialect.writes:
            kind = applied(writes.projection)
            sources.append((self.caches[writes.resource], Source(writes.resource, kind)))
        for reads in self.dialect.reads:
            source = Source(reads.resource, reads.projection, selector=reads.selector)
            sources.append((self.caches[reads.resource], source))
        async with asyncio.TaskGroup() as group:
            tasks = []
            for cache, source in sources:
                cache.subscribe(self._on)
                tasks.append(group.create_task(cache.run(Reflector(self.client, source))))
            for cache, _ in sources:
                await cache.wait_synced()
            try:
                yield self
            finally:
                await self._clean_up()
                for task in tasks:
                    task.cancel()

    def _on(self, old: object, new: object) -> None:
        self._changed.set()

    async def _clean_up(self) -> None:
        for resource, name in self._passing:
            found = await self.client.get(resource, name, into=PartialObject)
            await self.client.delete(resource, name, uid=found.metadata.uid)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for a change after which the condition holds."""
        try:
            async with asyncio.timeout(DEADLINE):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {DEADLINE:g} s; {self._describe()}") from None

    def _describe(self) -> str:
        groups = [str(_projection(value)) for value in self.caches[PODGROUPS]]
        pods = [(pod.metadata.name, pod.spec.node_name, pod.status) for pod in self.pods]
        return f"pod groups: {groups}; pods: {pods}"

    async def create(self, resource: Resource, manifest: Object) -> None:
        """Create something cluster-scoped that goes away with the test."""
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **manifest}
        await self.client.create(resource, body, field_manager=PERSON, into=PartialObject)
        self._passing.append((resource, manifest["metadata"]["name"]))

    async def add_node(self, index: int, **labels: str) -> str:
        """A node that only pods of this stage can use, with room for one pod of 20 CPUs."""
        node = simulated_node(index)
        node["metadata"]["name"] = name = f"{self.namespace}-{index}"
        node["metadata"]["labels"] |= {
            "kubernetes.io/hostname": name,
            "stage": self.namespace,
            **{key.replace("__", "/"): value for key, value in labels.items()},
        }
        await self.create(NODES, node)
        return name

    async def queue(self, name: str, parent: str, **limits: int) -> None:
        """A queue that is unlimited but for these limits."""
        resources = {
            kind: {"quota": -1, "limit": limits.get(kind, -1), "overQuotaWeight": 1}
            for kind in ("cpu", "gpu", "memory")
        }
        spec = {"parentQueue": parent, "resources": resources}
        await self.create(QUEUES, {"metadata": {"name": name}, "spec": spec})

    async def gang(
        self, name: str, groups: dict[str, int], *, queue: str = "team", **more: Any
    ) -> ObservedPodGang:
        """A gang whose groups have as many pods as they need."""
        constraints = more.pop("constraints", {})
        manifest = {
            "apiVersion": ObservedPodGang.API_VERSION,
            "kind": ObservedPodGang.KIND,
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {"kai.scheduler/queue": queue},
                "annotations": more.pop("annotations", {}),
            },
            "spec": {
                "podgroups": [
                    {
                        "name": group,
                        "podReferences": [
                            {"namespace": self.namespace, "name": f"{group}-{index}"}
                            for index in range(minimum)
                        ],
                        "minReplicas": minimum,
                        **constraints.get(group, {}),
                    }
                    for group, minimum in groups.items()
                ],
                **more,
            },
        }
        return await self.client.create(GANGS, manifest, field_manager=PERSON, into=ObservedPodGang)

    async def write(self, gang: ObservedPodGang) -> Written:
        """Translate and apply, as the generic controllers do."""
        translation = self.dialect.translate(gang, LiveFacts(self, gang))
        assert translation.refusals == ()
        [rendered] = translation.objects
        return await self.apply(rendered, GANGS, gang)

    async def apply(self, rendered: Rendered, kind: Resource, owner: Watched) -> Written:
        key = ObjectKey(owner.metadata.namespace or "", owner.metadata.name)
        metadata = rendered.manifest["metadata"]
        assert isinstance(metadata, dict)
        owned = {**metadata, "ownerReferences": [controlled_by(kind, owner)]}
        target = Target(rendered.resource, self.caches[rendered.resource])
        return await self._applier.apply(
            target,
            {**rendered.manifest, "metadata": owned},
            Behalf(key, identity(kind, owner)),
        )

    async def run_pods(self, gang: ObservedPodGang) -> None:
        """Create the gang's pods as core would, already released."""
        members = self.dialect.preparation.members
        assert members is not None
        for group in gang.spec.podgroups:
            for index, reference in enumerate(group.pod_references):
                manifest = self._pod(reference.name, gang, group.name)
                fill = functools.partial(_filled, gang=gang, group=group.name, index=index)
                await self.client.create(
                    PODS,
                    prepared(manifest, members, fill),
                    field_manager=PERSON,
                    into=PartialObject,
                )

    def _pod(self, name: str, gang: ObservedPodGang, group: str) -> Object:
        container = {
            "name": "main",
            "image": "example.com/none",
            "resources": {"requests": {"cpu": "20"}},
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {names.LABEL_PODGANG: gang.metadata.name, names.LABEL_PODCLIQUE: group},
            },
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [container],
                "nodeSelector": {"stage": self.namespace},
            },
        }

    def words(self, gang: ObservedPodGang) -> Report:
        return self.dialect.mirror(gang, LiveFacts(self, gang))

    def nodes(self, gang: ObservedPodGang) -> list[str]:
        """The nodes of the gang's pods, of those that have one."""
        facts = LiveFacts(self, gang)
        return sorted(pod.spec.node_name for pod in facts.pods if pod.spec.node_name)

    def pod_group(self, gang: ObservedPodGang) -> KaiPodGroup:
        """The gang's PodGroup; an empty one until it is seen."""
        name = pod_group_name(gang.metadata.name, gang.metadata.uid or "")
        found = LiveFacts(self, gang).get(PODGROUPS, self.namespace, name)
        return found if isinstance(found, KaiPodGroup) else KaiPodGroup()

    def known(self, resource: Resource) -> set[str]:
        """Names of the objects of a kind that the caches show."""
        return {value.metadata.name for value in self.caches[resource]}


def prepared(manifest: Object, patch: PodPatch, fill: Callable[[str], str]) -> Object:
    """A pod with the record's patch."""
    metadata, spec = manifest["metadata"], patch.spec
    labels = {**metadata["labels"], **{k: fill(v) for k, v in patch.labels.items()}}
    annotations = {key: fill(value) for key, value in patch.annotations.items()}
    return {
        **manifest,
        "metadata": {**metadata, "labels": labels, "annotations": annotations},
        "spec": {**manifest["spec"], **(spec.manifest() if spec else {})},
    }


def _filled(text: str, *, gang: ObservedPodGang, group: str, index: int) -> str:
    values = {
        "{namespace}": gang.metadata.namespace,
        "{gang}": gang.metadata.name,
        "{gangUID}": gang.metadata.uid,
        "{group}": group,
        "{index}": str(index),
    }
    for token, value in values.items():
        text = text.replace(token, value or "")
    return text
