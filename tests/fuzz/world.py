"""Core and one backend on a server in memory, run key by key until a good set is ready."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from backend_controllers import default as default_backend
from backend_controllers import kai, koordinator, volcano, yunikorn
from backend_controllers.contract.declaration import Backend, Dialect, Served
from backend_controllers.generic import assembly
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.discovery import Found
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.generic.orphans import SWEEP
from backend_controllers.settings import BackendSettings
from backend_controllers.volcano.installation import VolcanoOptions
from core_operator import app
from core_operator.settings import CoreSettings
from core_operator.state.caches import SETS
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import LEASES, PODS
from shared_api.runtime.manager import Manager
from shared_api.runtime.reconciling.controller import Controller
from shared_api.runtime.reconciling.outcome import is_expected
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache, key_of
from shared_api.runtime.watching.reflector import Source
from tests.backends.default.kit import PRIORITY, TOPOLOGY, V136
from tests.backends.default.kit import served as default_served
from tests.backends.kai.kit import SERVED as KAI
from tests.backends.volcano.kit import SERVED as VOLCANO
from tests.contract.manifests import clique, pod_clique_set
from tests.fuzz.poison import Poison
from tests.fuzz.shelf import Object, Shelf

Watch = tuple[Source[Any], Cache[Any], Callable[[], Any]]
"""What is watched, where it is kept, and what follows it."""

LEASE = ObjectKey("grove-system", "backend")
ROUNDS = 16


def _koordinator() -> Served:
    kinds = (koordinator.api.PODGROUPS, koordinator.api.QUOTAS, koordinator.api.TOPOLOGIES)
    group: Object = {"minMember": {}, "scheduleTimeoutSeconds": {}}
    layers: Object = {"networkTopologySpec": {"items": {"properties": {"labelKey": {}}}}}
    specs: list[Object] = [group, {}, layers]
    places = [(kind.group, kind.version, kind.plural) for kind in kinds]
    schemas: list[Object] = [{"properties": {"spec": {"properties": fields}}} for fields in specs]
    return Served(frozenset(places), dict(zip(places, schemas, strict=True)))


@dataclass(frozen=True, eq=False)
class Scheduler:
    """A backend, what it finds in the cluster, and what its gangs need there."""

    backend: Backend
    served: Served
    options: Any = None
    given: tuple[tuple[Any, Object], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def dialect(self) -> Dialect:
        found = self.backend.detect(self.served, self.options or self.backend.options())
        assert isinstance(found, Dialect)
        return found


def _named(name: str, **body: Any) -> Object:
    return {"metadata": {"name": name}, **body}


SCHEDULERS = {
    "default": Scheduler(default_backend.BACKEND, default_served(*V136, kept=(TOPOLOGY, PRIORITY))),
    "kai": Scheduler(
        kai.BACKEND,
        KAI["0.17"],
        given=(
            (kai.api.QUEUES, _named("top")),
            (kai.api.QUEUES, _named("team", spec={"parentQueue": "top"})),
        ),
        labels=((kai.api.KEY_QUEUE, "team"),),
    ),
    "volcano": Scheduler(
        volcano.BACKEND,
        VOLCANO["1.14"],
        VolcanoOptions(queue_admission=True),
        given=((volcano.api.QUEUES, _named("default", status={"state": "Open"})),),
    ),
    "koordinator": Scheduler(koordinator.BACKEND, _koordinator()),
    "yunikorn": Scheduler(
        yunikorn.BACKEND, Served(services=frozenset(yunikorn.BACKEND.questions.services))
    ),
}


class _Managed(Manager):
    """A manager that says what it was given."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.watched: list[tuple[Source[Any], Cache[Any]]] = []

    def watch(self, source: Source[Any], *args: Any, **options: Any) -> Cache[Any]:
        cache = super().watch(source, *args, **options)
        self.watched.append((source, cache))
        cache._on_defect = _raise
        return cache


def _raise() -> None:
    """Raise again what an indexer or a subscriber has raised."""
    raise


@dataclass
class Process:
    """The watches and the controllers of one process."""

    manager: _Managed

    @property
    def controllers(self) -> list[Controller]:
        return self.manager._controllers

    @property
    def watches(self) -> list[Watch]:
        runs = [watch.run for watch in self.manager._watches]
        return [(*found, run) for found, run in zip(self.manager.watched, runs, strict=True)]

    def keys(self) -> set[ObjectKey]:
        found = {key_of(value) for _, cache in self.manager.watched for value in cache}
        return {*found, SWEEP}


class World:
    """A server, core and one backend."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.shelf = Shelf()
        self.scheduler = scheduler
        self.name = scheduler.backend.name
        for resource, given in scheduler.given:
            self.shelf.put(resource, given)
        spec = {"holderIdentity": "somebody", "leaseDurationSeconds": 10_000}
        metadata = {"namespace": LEASE.namespace, "name": LEASE.name}
        self.shelf.put(LEASES, {"metadata": metadata, "spec": spec})
        self.core = self._core()
        self.backend = self._backend()
        self.failures: list[str] = []

    def _core(self) -> Process:
        settings = CoreSettings.model_validate({"network": {"autoMNNVLEnabled": True}})
        with _managers_are(app):
            manager = app.assemble(settings, self.shelf, Telemetry())
        assert isinstance(manager, _Managed)
        return Process(manager)

    def _backend(self) -> Process:
        telemetry = Telemetry()
        manager = _Managed(self.shelf, telemetry)
        context = BackendContext(
            self.scheduler.backend,
            BackendSettings(),
            self.shelf,
            telemetry,
            BackendMetrics(telemetry, self.name),
            lease=LEASE,
            fence=manager.fence,
        )
        assembly.assemble(context, manager, Found(self.scheduler.served, self.scheduler.dialect))
        return Process(manager)

    @property
    def watches(self) -> list[Watch]:
        return [*self.core.watches, *self.backend.watches]

    def put(self, poison: Poison) -> None:
        """Store an object, or another version of it."""
        self.shelf.put(poison.resource, poison.manifest)

    def take_away(self, poison: Poison) -> None:
        """Delete an object."""
        metadata = poison.manifest["metadata"]
        self.shelf.remove(poison.resource, (metadata.get("namespace") or "", metadata["name"]))

    def put_good_set(self, name: str) -> None:
        """A set that nothing is wrong with."""
        cliques = clique("a"), clique("b", minAvailable=1), clique("c", replicas=1)
        manifest = pod_clique_set(*cliques, name=name)
        manifest["metadata"] |= {
            "labels": dict(self.scheduler.labels),
            "annotations": {names.ANNOTATION_SCHEDULER_BACKEND: self.name},
        }
        template = manifest["spec"]["template"]
        template |= {"terminationDelay": "4h", "cliqueStartupType": "CliqueStartupTypeInOrder"}
        template["podCliqueScalingGroups"] = [
            {"name": "g", "cliqueNames": ["c"], "replicas": 2, "minAvailable": 1}
        ]
        self.shelf.put(SETS, manifest)

    def is_ready(self, name: str) -> bool:
        """Tell whether a set says that it is ready."""
        found = self.shelf.found(SETS, name)
        said = (found or {}).get("status", {}).get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" for one in said)

    async def run_until_ready(self, *sets: str) -> None:
        """Let everybody work in turns until these sets are ready; fail if they do not get there."""
        for _ in range(ROUNDS):
            await self.step()
            if all(map(self.is_ready, sets)):
                return
        missing = [name for name in sets if not self.is_ready(name)]
        said = {name: (self.shelf.found(SETS, name) or {}).get("status") for name in missing}
        raise AssertionError(f"not ready after {ROUNDS} rounds: {said}; {self.failures}")

    async def step(self) -> None:
        """Every controller once for every key, with what the server sent so far."""
        for process in (self.core, self.backend):
            for controller in process.controllers:
                await self.heard()
                one = ObjectKey("", self.name)
                keys = [one] if controller.name == "registration" else sorted(process.keys())
                for key in keys:
                    if controller._options.exists(key):
                        await self._reconcile(controller, key)
        self._kubelet()
        await self.heard()

    async def _reconcile(self, controller: Controller, key: ObjectKey) -> None:
        try:
            async with asyncio.timeout(5):
                await controller._reconciler.reconcile(key)
        except Exception as error:
            if not is_expected(error):
                raise
            self.failures.append(f"{controller.name} {key}: {error}"[:300])

    async def heard(self) -> None:
        """Let the watches read what there is, however often they have to begin again."""
        while not self.shelf.is_read:  # noqa: ASYNC110 - it waits for other tasks, not for time
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    def _kubelet(self) -> None:
        """Bind and start every pod that no gate holds."""
        for stored in list(self.shelf.kinds[str(PODS)].values()):
            spec, status = stored.get("spec") or {}, stored.get("status") or {}
            if spec.get("schedulingGates") or status.get("phase") or "poison" in stored:
                continue
            conditions = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Ready")]
            status = {"phase": "Running", "conditions": conditions}
            self.shelf.put(PODS, {**stored, "spec": {**spec, "nodeName": "node"}, "status": status})


@contextlib.contextmanager
def _managers_are(module: Any) -> Any:
    original, module.Manager = module.Manager, _Managed
    try:
        yield
    finally:
        module.Manager = original


@contextlib.asynccontextmanager
async def running(scheduler: Scheduler, before: Callable[[World], None]) -> AsyncIterator[World]:
    """A world whose watches are open; `before` fills the server first."""
    world = World(scheduler)
    before(world)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run()) for _, _, run in world.watches]
        try:
            yield world
        finally:
            for task in tasks:
                task.cancel()


@cache
def _sources(scheduler: Scheduler) -> tuple[list[Source[Any]], list[Source[Any]]]:
    async def look() -> World:
        return World(scheduler)

    world = asyncio.run(look())
    found = [[source for source, _, _ in one.watches] for one in (world.core, world.backend)]
    return found[0], found[1]


def sources_of(scheduler: Scheduler, *, core_only: bool = False) -> list[Source[Any]]:
    """What core and a backend watch."""
    of_core, of_backend = _sources(scheduler)
    return of_core if core_only else [*of_core, *of_backend]
