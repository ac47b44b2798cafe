"""One set with one gang of two pods in caches that a test fills, without a server."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from core_operator.context import CoreContext
from core_operator.metrics import CoreMetrics
from core_operator.plan.layout import naming
from core_operator.settings import CoreSettings
from core_operator.state.caches import BASE, OWNER, CoreCaches
from core_operator.state.view import View
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import KubeObject, PodCliqueSet, PodGang, SchedulerBackend
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.reconciling.builder import Builder, Runtime
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import by_controller
from shared_api.runtime.watching.predicates import Watched
from shared_api.runtime.watching.reflector import Changed, Removed, Restarted, Synced
from tests.core import stand_in
from tests.plan import pod_samples
from tests.plan.pod_samples import BACKEND, CLIQUE, GATED, PodState
from tests.plan.samples import NAMESPACE, clique, pod_clique_set
from tests.runtime.writes import ScriptedClient

W = TypeVar("W", bound=Watched)
K = TypeVar("K", bound=KubeObject)

GANG = ObjectKey(NAMESPACE, "w-0")


class _Idle:
    """A reconciler that is never called."""

    async def reconcile(self, key: ObjectKey) -> None:
        raise NotImplementedError


class Scene:
    """The caches, filled; `backend` is what the gang's backend registers with."""

    def __init__(self, **backend: object) -> None:
        self.time = 0.0
        self.clock = Clock(monotonic=lambda: self.time)
        self.caches = _caches()
        self.view = View(self.caches, BACKEND)
        self.client = ScriptedClient()
        self._version = 100
        telemetry = Telemetry()
        self.context = CoreContext(
            CoreSettings(),
            self.client,
            self.view,
            telemetry,
            CoreMetrics(telemetry),
            clock=self.clock,
        )
        self.set = pod_clique_set(clique("a", 2))
        self.clique = _owned(pod_samples.podclique(2, 2), self.set)
        self.gang = self.gang_of()
        given = {"schedulingGate": pod_samples.GATE, **backend}
        record = stand_in.record(BACKEND, **given)
        record["metadata"]["uid"] = "uid-of-backend"
        self.put(self.caches.backends, _applied(SchedulerBackend.model_validate(record)))
        self.put(self.caches.sets, _applied(self.set))

    def queue_of(self, table: Callable[[Builder], Builder]) -> Queue[ObjectKey]:
        """The queue of a controller that has this table of watches and never runs."""
        runtime = Runtime(self.client, Telemetry(), names.FIELD_MANAGER_CORE, clock=self.clock)
        controller = table(Builder("scene", runtime)).build(lambda _: _Idle())
        controller.queue.reopen()
        return controller.queue

    def gang_of(
        self, *pods: str, conditions: Sequence[object] = (), name: str = GANG.name
    ) -> PodGang:
        """The gang with references to pods, as the server would send it."""
        made = pod_samples.gang((CLIQUE, 2, pods), conditions=conditions, name=name)
        labels = {**naming.gang_labels("w", 0, None), **made.metadata.labels}
        metadata = made.metadata.model_copy(update={"labels": labels, "generation": 2 + len(pods)})
        return _owned(made.model_copy(update={"metadata": metadata}), self.set)

    @contextmanager
    def own_write(self, cache: Cache[W], key: ObjectKey) -> Iterator[None]:
        """What is put meanwhile is what a status write of ours has made of an object."""
        found = cache.get(key)
        uid = found.metadata.uid or "" if found is not None else ""
        cache.own_writes.begin(uid)
        yield
        shown = cache.get(key)
        version = shown.metadata.resource_version if shown is not None else None
        cache.own_writes.end(uid, version, version)

    def pod(self, index: int, state: PodState = GATED) -> Pod:
        """A pod of the gang."""
        return pod_samples.pod(index, state, labels={names.LABEL_PODGANG: GANG.name})

    def has_clique(self) -> None:
        """Let the PodClique be seen."""
        self.put(self.caches.cliques, _applied(self.clique))

    def has_gang(self, gang: PodGang | None = None) -> None:
        """Let the gang be seen, as it is now."""
        self.put(self.caches.gangs, _applied(gang or self.gang))

    def has_pod(self, index: int, state: PodState = GATED) -> Pod:
        """Let a pod be seen."""
        pod = self.pod(index, state)
        self.put(self.caches.pods, pod)
        return pod

    def loses(self, pod: Pod) -> None:
        """Let a pod be gone."""
        self.caches.pods.take(Removed(pod))

    def put(self, cache: Cache[W], value: W) -> None:
        """Let a new version of an object be seen."""
        self._version += 1
        cache.take(Changed(_at(value, f"{self._version}")))


def _caches() -> CoreCaches:
    def by_base(gang: Watched) -> Iterable[str]:
        base = gang.metadata.labels.get(names.LABEL_BASE_PODGANG)
        return () if base is None else (f"{gang.metadata.namespace}/{base}",)

    owned = {OWNER: by_controller}
    caches = CoreCaches(
        sets=Cache(),
        cliques=Cache(owned),
        groups=Cache(owned),
        gangs=Cache({**owned, BASE: by_base}),
        backends=Cache(),
        pods=Cache(owned),
        services=Cache(owned),
        revisions=Cache(owned),
        leases=Cache(),
        bindings=Cache(),
        autoscalers=Cache(owned),
        claims=Cache(owned),
        claim_templates=Cache(),
        domains=Cache(owned),
    )
    for cache in (caches.sets, caches.cliques, caches.gangs, caches.backends, caches.pods):
        cache.take(Restarted())
        cache.take(Synced("1"))
    return caches


def _applied(value: K) -> Applied[K]:
    return applied(type(value))(value, {})


def _owned(value: K, owner: PodCliqueSet) -> K:
    references = (naming.controller_reference(owner),)
    metadata = value.metadata.model_copy(update={"owner_references": references})
    return value.model_copy(update={"metadata": metadata})


def _at(value: W, version: str) -> W:
    if isinstance(value, Pod):
        metadata = msgspec.structs.replace(value.metadata, resource_version=version)
        return msgspec.structs.replace(value, metadata=metadata)
    assert isinstance(value, Applied)
    inner = value.object
    metadata = inner.metadata.model_copy(update={"resource_version": version})
    return type(value)(inner.model_copy(update={"metadata": metadata}), {})
