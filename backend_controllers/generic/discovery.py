"""Discovery: finds what the cluster serves, and notices when that changes.

CustomResourceDefinitions are watched by name, API groups are requested, and fields of feature gates
are probed with a dry-run create. All is requested again when a definition changed, an APIService of
a group was created or deleted, or the watch of APIServices restarted, as it does when the API server
starts with other gates. The server registers a group a moment before it serves all of it, so a
change is followed by a few more requests. A failed request changes nothing: the last answer stays valid.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec
import structlog

from backend_controllers.contract.declaration import (
    Absent,
    Backend,
    Dialect,
    Options,
    Probe,
    Served,
)
from backend_controllers.generic.definitions import Definition, schemas
from backend_controllers.generic.kinds import field_manager, named
from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import AlreadyExists, Forbidden, Invalid, KubeError, NotFound
from shared_api.kube.resources import API_SERVICES, CRDS, SERVICES
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source

D = TypeVar("D", bound=msgspec.Struct)
log = structlog.stdlib.get_logger(__name__)

_REPEATS = (1.0, 5.0, 20.0)
"""Seconds between the requests that follow a change."""
_DEADLINE = 30.0


@dataclass(frozen=True, slots=True)
class Found:
    """What is served, and the dialect that the backend chose for it."""

    served: Served
    answer: Dialect | Absent


class _Version(msgspec.Struct, frozen=True):
    version: str = ""


class _Group(msgspec.Struct, frozen=True):
    versions: tuple[_Version, ...] = ()


class _Kind(msgspec.Struct, frozen=True):
    name: str = ""


class _Kinds(msgspec.Struct, frozen=True):
    resources: tuple[_Kind, ...] = ()


class _Release(msgspec.Struct, frozen=True):
    version: str = msgspec.field(default="", name="gitVersion")


class Discovery:
    """What the cluster serves for one backend."""

    def __init__(
        self, client: Client, backend: Backend, options: Options, telemetry: Telemetry
    ) -> None:
        self._client = client
        self._backend = backend
        self._options = options
        self._on_restart = telemetry.watch_restarted
        self._definitions: dict[str, Cache[Definition]] = {
            name: Cache() for name in backend.questions.definitions
        }
        self._api_services: Cache[PartialObject] = Cache()
        self._services: dict[str, Cache[PartialObject]] = {
            name: Cache() for name in backend.questions.services
        }
        self._found: Found | None = None
        self._error: str | None = None
        self._reflectors: list[Reflector[Definition] | Reflector[PartialObject]] = []
        self._changed = asyncio.Event()
        self._published = asyncio.Event()
        self._backoff = Backoff(base=0.2, cap=10.0)
        for cache in self._definitions.values():
            cache.subscribe(self._on_definition)
        for services in self._services.values():
            services.subscribe(self._on_service)
        self._api_services.subscribe(self._on_api_service)

    def problem(self) -> str | None:
        """Return what prevents the first answer; a readiness check."""
        if self._found is not None:
            return None
        errors = (reflector.last_error for reflector in self._reflectors)
        unread = next((f"cannot be read: {error}" for error in errors if error), None)
        return self._error or unread or "no answer yet"

    async def other_than(self, known: Found | None) -> Found:
        """Wait for an answer other than the one that is known."""
        while self._found is None or self._found is known:
            self._published.clear()
            await self._published.wait()
        return self._found

    async def run(self) -> None:
        """Watch and request until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, cache in self._definitions.items():
                source = Source(CRDS, Definition, selector=named(name))
                reflector = Reflector(self._client, source, on_restart=self._on_restart)
                self._reflectors.append(reflector)
                group.create_task(cache.run(reflector))
            for name, services in self._services.items():
                watched = Source(SERVICES, PartialObject, selector=named(name), metadata_only=True)
                looking = Reflector(self._client, watched, on_restart=self._on_restart)
                self._reflectors.append(looking)
                group.create_task(services.run(looking))
            if self._backend.questions.groups:
                registered = Source(API_SERVICES, PartialObject, metadata_only=True)
                group.create_task(
                    self._api_services.run(
                        Reflector(
                            self._client, registered, on_restart=self._on_api_services_restart
                        )
                    )
                )
            for definitions in self._definitions.values():
                await definitions.wait_synced()
            for services in self._services.values():
                await services.wait_synced()
            await self._keep_requesting()

    async def _keep_requesting(self) -> None:
        repeats: list[float] = []
        failures = 0
        while True:
            if self._changed.is_set():
                repeats = list(_REPEATS)
            self._changed.clear()
            try:
                async with asyncio.timeout(_DEADLINE):
                    served = await self._request()
            except (KubeError, TimeoutError) as error:
                failures += 1
                self._error = f"request failed: {str(error) or 'timed out'}"
                log.warning("discovery failed", error=self._error)
                await self._until_changed(self._backoff.delay(failures))
            else:
                failures = 0
                self._publish(served)
                await self._until_changed(repeats.pop(0) if repeats else None)

    async def _until_changed(self, seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def _request(self) -> Served:
        questions = self._backend.questions
        found = schemas(definition for cache in self._definitions.values() for definition in cache)
        resources = set(found)
        for group in questions.groups:
            resources |= await self._resources(group)
        release = msgspec.json.decode(await self._client.raw("/version"), type=_Release)
        services = frozenset(name for name, cache in self._services.items() if any(cache))
        served = Served(frozenset(resources), found, services=services, kubernetes=release.version)
        kept = [probe.name for probe in questions.probes(served) if await self._is_kept(probe)]
        return replace(served, kept=frozenset(kept))

    async def _resources(self, group: str) -> set[tuple[str, str, str]]:
        versions = await self._document(f"/apis/{group}", _Group)
        resources: set[tuple[str, str, str]] = set()
        for entry in versions.versions if versions is not None else ():
            kinds = await self._document(f"/apis/{group}/{entry.version}", _Kinds)
            resources |= {
                (group, entry.version, kind.name)
                for kind in (kinds.resources if kinds is not None else ())
                if "/" not in kind.name
            }
        return resources

    async def _document(self, path: str, into: type[D]) -> D | None:
        try:
            return msgspec.json.decode(await self._client.raw(path), type=into)
        except NotFound:
            return None

    async def _is_kept(self, probe: Probe) -> bool:
        try:
            answer = await self._client.create(
                probe.resource,
                probe.manifest,
                field_manager=field_manager(self._backend.name),
                dry_run=True,
                into=msgspec.Raw,
            )
        except (Invalid, NotFound, Forbidden, AlreadyExists) as error:
            log.info("a probe was rejected", probe=probe.name, error=str(error))
            return False
        node: object = msgspec.json.decode(answer)
        for part in probe.path:
            node = node.get(part) if isinstance(node, Mapping) else None
        return node is not None

    def _publish(self, served: Served) -> None:
        # The version is only for messages: a patch release of the server is not another answer.
        known = self._found
        if known is not None and replace(served, kubernetes="") == replace(
            known.served, kubernetes=""
        ):
            return
        self._found = Found(served, self._backend.detect(served, self._options))
        log.info("found what the cluster serves", answer=_name(self._found.answer))
        self._published.set()

    def _on_definition(self, old: Definition | None, new: Definition | None) -> None:
        if old is None or new is None or not old.serves_the_same(new):
            self._changed.set()

    def _on_service(self, old: PartialObject | None, new: PartialObject | None) -> None:
        if old is None or new is None:
            self._changed.set()

    def _on_api_service(self, old: PartialObject | None, new: PartialObject | None) -> None:
        name = (new or old or PartialObject()).metadata.name
        groups = self._backend.questions.groups
        if any(name.endswith(f".{group}") for group in groups):
            self._changed.set()

    def _on_api_services_restart(self, resource: str, reason: str) -> None:
        self._on_restart(resource, reason)
        self._changed.set()


def _name(answer: Dialect | Absent) -> str:
    return answer.name if isinstance(answer, Dialect) else f"missing: {answer.missing}"
