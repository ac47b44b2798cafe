"""The operator in the test's own event loop, a person who watches, and small workloads."""

import asyncio
import contextlib
import functools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec
from prometheus_client.samples import Sample

from core_operator.app import assemble
from core_operator.settings import CoreLeaderElection, CoreSettings, ServerSettings
from core_operator.state.caches import BACKENDS, CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client, Patch, PatchType, Propagation, Selector
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import Invalid
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.resources import EVENTS, HPAS, PODS, SERVICES, Resource
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source

Object = dict[str, Any]
WRITES = ("POST", "APPLY", "PATCH", "DELETE", "create", "apply", "patch", "delete")


def settings(**sections: Any) -> CoreSettings:
    """Settings of a single operator on any free port."""
    return CoreSettings(
        server=ServerSettings(host="127.0.0.1", port=0),
        leader_election=CoreLeaderElection(enabled=False),
        **sections,
    )


_QUIET = 0.5
"""Longer than what was written takes to come back as an event."""


class _Told(msgspec.Struct, frozen=True):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    note: str = ""


class Writes:
    """What a client wrote, by verb and resource, and what it was refused; Events do not count."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str]] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()

    def __call__(self, verb: str, resource: str, code: int, seconds: float) -> None:
        if verb in WRITES and resource != EVENTS.plural:
            counted = self.refused if code >= 400 else self.seen
            counted[verb.lower(), resource] += 1

    def total(self) -> int:
        return self.seen.total()


class Operator:
    """A running operator and what it has written."""

    def __init__(self, telemetry: Telemetry, writes: Writes) -> None:
        self.telemetry = telemetry
        self.writes = writes

    async def until_idle(self, seconds: float = 60) -> None:
        """Wait until every queue has been worked off, and no status waits to be told."""
        loop = asyncio.get_running_loop()
        seen: Counter[str] = Counter()
        quiet_since: float | None = None
        try:
            async with asyncio.timeout(seconds):
                while quiet_since is None or loop.time() < quiet_since + _QUIET:
                    await asyncio.sleep(0.05)  # the queues tell nobody that they are empty
                    if work := self._work():
                        seen.update(work)
                        quiet_since = None
                    elif quiet_since is None:
                        quiet_since = loop.time()
        except TimeoutError as error:
            error.add_note(f"what was to be done, and how often: {seen.most_common(10)}")
            raise

    async def until(self, condition: Callable[[], object], seconds: float = 60) -> None:
        """Wait for something that the operator counts."""
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - counters have nobody to tell
                await asyncio.sleep(0.02)

    def _work(self) -> list[str]:
        found = (one for family in self.telemetry.registry.collect() for one in family.samples)
        return [f"{one.name}{one.labels}={one.value}" for one in found if _is_work(one)]

    def metric(self, name: str, **labels: str) -> float:
        return self.telemetry.registry.get_sample_value(name, labels) or 0.0

    def total(self, name: str) -> float:
        """A metric, summed up over its labels."""
        families = self.telemetry.registry.collect()
        samples = (sample for family in families for sample in family.samples)
        return sum(sample.value for sample in samples if sample.name == name)


def _is_work(sample: Sample) -> bool:
    """Tell whether a metric says that something is still to be done."""
    match sample.name:
        case "cache_synced":
            return not sample.value
        case "workqueue_depth" | "writes_not_yet_seen" | "controller_runtime_active_workers":
            return bool(sample.value)
        case "workqueue_waiting":
            # The others wait for Leases that may end, or look again for safety's sake.
            return bool(sample.value) and sample.labels["controller"].endswith("-status")
        case _:
            return False


@contextlib.asynccontextmanager
async def running_operator(
    cluster: Cluster, chosen: CoreSettings | None = None, client_type: type[Client] = Client
) -> AsyncIterator[Operator]:
    """The operator, until the block ends."""
    telemetry, writes = Telemetry(), Writes()

    def observe(verb: str, resource: str, code: int, seconds: float) -> None:
        telemetry.request(verb, resource, code, seconds)
        writes(verb, resource, code, seconds)

    async with client_type(from_kubeconfig(cluster.kubeconfig), observe=observe) as client:
        manager = assemble(chosen or settings(), client, telemetry)
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            try:
                yield Operator(telemetry, writes)
            finally:
                manager.stop()


class Onlooker:
    """Sees the objects of one namespace, and acts as a person would."""

    def __init__(self, client: Client, namespace: str, also: Sequence[Resource] = ()) -> None:
        self.client = client
        self.namespace = namespace
        self._watched = (SETS, CLIQUES, GROUPS, GANGS, PODS, SERVICES, HPAS, *also)
        self._caches: dict[str, Cache[LooseObject]] = {}
        self._changed = asyncio.Event()
        self.history: list[tuple[str, LooseObject]] = []
        """Every pod that was ever seen, as it was created."""

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator["Onlooker"]:
        async with asyncio.TaskGroup() as group:
            tasks = []
            for resource in self._watched:
                cache: Cache[LooseObject] = Cache()
                self._caches[resource.plural] = cache
                cache.subscribe(functools.partial(self._on, resource.plural))
                source = Source(resource, LooseObject, self.namespace)
                tasks.append(group.create_task(cache.run(Reflector(self.client, source))))
            for cache in self._caches.values():
                await cache.wait_synced()
            try:
                yield self
                await self._clean_up()
            finally:
                for task in tasks:
                    task.cancel()

    async def start_over(self) -> None:
        """Remove everything, and forget what was seen."""
        await self._clean_up()
        pods = self._caches[PODS.plural]
        await self.until(lambda: not len(pods))
        self.history.clear()

    async def _clean_up(self) -> None:
        """Leave nothing that the operator of the next test would find."""
        for item in self.all(SETS):
            await self.delete(item, SETS)
        caches = [self._caches[kind.plural] for kind in (CLIQUES, GROUPS, GANGS)]
        await self.until(
            lambda: not any(item.metadata.controller for cache in caches for item in cache)
        )

    def _on(self, plural: str, old: LooseObject | None, new: LooseObject | None) -> None:
        if plural == PODS.plural and old is None and new is not None:
            self.history.append((new.metadata.name, new))
        self._changed.set()

    def seen(self, resource: Resource, tell: Callable[[LooseObject], None]) -> None:
        """Have a function told of every version of an object that is seen from now on."""
        self._caches[resource.plural].subscribe(lambda _, new: tell(new) if new else None)

    def all(self, resource: Resource) -> list[LooseObject]:
        """The objects of a kind that stay, by name."""
        found = (item for item in self._caches[resource.plural])
        return sorted(
            (item for item in found if not item.metadata.is_terminating),
            key=lambda item: item.metadata.name,
        )

    def names(self, resource: Resource) -> list[str]:
        return [item.metadata.name for item in self.all(resource)]

    def get(self, resource: Resource, name: str) -> LooseObject | None:
        return self._caches[resource.plural].get(ObjectKey(self.namespace, name))

    def one(self, resource: Resource, name: str) -> LooseObject:
        """The object of this name, which must exist."""
        found = self.get(resource, name)
        assert found is not None, f"no {resource.kind} {name}"
        return found

    def pods_of(self, podclique: str) -> dict[str, LooseObject]:
        """The pods of a PodClique that stay, by index."""
        return {
            pod.metadata.labels[names.LABEL_POD_INDEX]: pod
            for pod in self.pods
            if pod.metadata.labels.get(names.LABEL_PODCLIQUE) == podclique
        }

    async def until_ready(self, pods: int, seconds: float = 60) -> None:
        """Wait until so many pods exist and all are ready."""
        await self.until(lambda: len(self.pods) == pods and all(map(is_ready, self.pods)), seconds)

    @property
    def pods(self) -> list[LooseObject]:
        return self.all(PODS)

    async def until(self, condition: Callable[[], object], seconds: float = 60) -> None:
        """Wait for a change after which the condition holds."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {seconds:g} s: {self.describe()}") from None

    def describe(self) -> str:
        """What is there, short enough to be read in a failed test."""
        lines = []
        for plural, cache in self._caches.items():
            for item in cache:
                told = [
                    f"{c['type']}={c['status']} {c.get('reason', '')} {c.get('message', '')}"
                    for c in item.status.get("conditions", [])
                ]
                going = " (going)" if item.metadata.is_terminating else ""
                lines.append(f"{plural} {item.metadata.name}{going}: {'; '.join(told)}")
        return "\n".join(lines)

    async def create(self, manifest: Object) -> PartialObject:
        manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": self.namespace}}
        resource = {
            "PodCliqueSet": SETS,
            "Pod": PODS,
            "Service": SERVICES,
            "PodGang": GANGS,
            "PodClique": CLIQUES,
            HPAS.kind: HPAS,
        }[manifest["kind"]]
        return await self.client.create(
            resource, manifest, field_manager="person", into=PartialObject
        )

    async def refusal(self, manifest: Object) -> str:
        """What the server says to a manifest; empty if it takes it."""
        try:
            await self.create(manifest)
        except Invalid as error:
            return str(error)
        return ""

    async def until_event(self, about: str, reason: str, seconds: float = 60) -> str:
        """Wait for an Event about an object; its text."""
        fields = f"regarding.name={about},reason={reason}"
        source = Source(EVENTS, _Told, self.namespace, Selector(fields=fields))
        found: asyncio.Queue[_Told] = asyncio.Queue()
        cache: Cache[_Told] = Cache()
        cache.subscribe(lambda _, event: found.put_nowait(event) if event else None)
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            watching = group.create_task(cache.run(Reflector(self.client, source)))
            event = await found.get()
            watching.cancel()
        return event.note

    async def backend_holds(self, name: str, kind: str) -> bool:
        """Tell whether a backend's record says so."""
        return holds(await self.client.get(BACKENDS, name, into=LooseObject), kind)

    async def remove_backend(self, name: str) -> None:
        record = await self.client.get(BACKENDS, name, into=PartialObject)
        await self.client.delete(BACKENDS, name, uid=record.metadata.uid)

    async def change(self, resource: Resource, name: str, body: Object) -> None:
        await self.client.patch(
            resource, name, self.namespace, patch=Patch(body), field_manager="person"
        )

    async def change_status(self, resource: Resource, name: str, body: Object | None) -> None:
        await self.client.patch(
            resource,
            name,
            self.namespace,
            patch=Patch({"status": body}, PatchType.MERGE),
            field_manager="person",
            subresource="status",
        )

    async def scale(self, resource: Resource, name: str, replicas: int) -> None:
        """As `kubectl scale` and autoscalers do."""
        await self.client.patch(
            resource,
            name,
            self.namespace,
            patch=Patch({"spec": {"replicas": replicas}}),
            field_manager="person",
            subresource="scale",
        )

    async def delete(
        self,
        item: LooseObject | PartialObject,
        resource: Resource,
        propagation: Propagation = Propagation.BACKGROUND,
    ) -> None:
        await self.client.delete(
            resource,
            item.metadata.name,
            self.namespace,
            uid=item.metadata.uid,
            propagation=propagation,
        )


def clique(name: str, replicas: int = 1, *, cpu: str = "1m", **spec: Any) -> Object:
    """One clique whose role is its name."""
    container = {
        "name": "main",
        "image": "registry.example.com/app:1",
        "resources": {"requests": {"cpu": cpu}},
    }
    pod_spec = {
        # As a kubelet would, and at once.
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        **spec.pop("podSpec", {}),
    }
    body = {"roleName": name, "podSpec": pod_spec, "replicas": replicas, **spec}
    return {"name": name, "spec": body}


def pcs(name: str, *cliques: Object, replicas: int = 1, **template: Any) -> Object:
    """A PodCliqueSet."""
    annotations = template.pop("annotations", {})
    policy = {"policy": template.pop("policy")} if "policy" in template else {}
    body = {"replicas": replicas, **policy, "template": {"cliques": list(cliques), **template}}
    return {
        "apiVersion": SETS.api_version,
        "kind": SETS.kind,
        "metadata": {"name": name, "annotations": annotations},
        "spec": body,
    }


def condition(item: LooseObject | None, kind: str) -> Object:
    """A condition of an object; empty if it has none of that type."""
    found = item.status.get("conditions", []) if item is not None else []
    return next((entry for entry in found if entry["type"] == kind), {})


def holds(item: LooseObject | None, kind: str) -> bool:
    return bool(condition(item, kind).get("status") == "True")


def is_ready(pod: LooseObject) -> bool:
    return holds(pod, "Ready")


def gates(pod: LooseObject) -> list[str]:
    return [gate["name"] for gate in pod.spec.get("schedulingGates", [])]
