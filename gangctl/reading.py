"""Reads a `Snapshot` from the API server with the user's kubeconfig: one list per kind, in parallel.

It owns the choice of context and namespace, and the discovery of the schedulers' own kinds. A list
that the user may not read, or that the cluster does not serve, does not fail the command: the
snapshot names it. Nothing here writes to the cluster.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from gangctl.snapshot import (
    BACKENDS,
    BINDINGS,
    CLIQUES,
    GANGS,
    GROUPS,
    SETS,
    ListedDeployment,
    ListedLease,
    ListedPod,
    SchedulerObject,
    Snapshot,
)
from shared_api.capacity.nodes import ListedNode
from shared_api.kube.access import from_environment, from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject
from shared_api.kube.errors import ConfigError, Forbidden, KubeError, NotFound
from shared_api.kube.resources import DEPLOYMENTS, HPAS, LEASES, NODES, PODS, Resource
from shared_api.runtime.clock import SYSTEM, Clock

T = TypeVar("T")

USER_AGENT = "kubectl-gang"
# Larger pages than a controller uses: the user waits for the last one.
_PAGE = 2500
_SCHEDULING = "scheduling."
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
_NAME_ONE = "Name one with --kubeconfig or in $KUBECONFIG"


class Part(StrEnum):
    """What a command needs; sets, gangs and pods are always read."""

    CLIQUES = "cliques"
    GROUPS = "groups"
    BACKENDS = "backends"
    CAPACITY = "capacity"
    """Nodes, and the pods of all namespaces."""
    SCHEDULER_OBJECTS = "scheduler objects"
    BINDINGS = "bindings"
    VERSIONS = "versions"
    """Deployments of all namespaces, and the version of the server."""
    AUTOSCALERS = "autoscalers"


@dataclass(frozen=True)
class CommandTarget:
    """Which cluster and namespace a command is about."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False
    clock: Clock = field(default=SYSTEM)

    @property
    def scope(self) -> str | None:
        """Return the namespace to list; None for all."""
        return None if self.all_namespaces else self.home

    @property
    def home(self) -> str:
        """Return the namespace of the command: the option, the context's, or default."""
        return self.namespace or _namespace_of(self._paths(), self.context) or "default"

    @property
    def shown_context(self) -> str:
        """Return the name of the context, for people; empty if no kubeconfig names one."""
        return self.context or _current_context(self._paths())

    @property
    def server(self) -> str:
        """Return the address of the API server, for people; empty if no kubeconfig names one."""
        return _server_of(self._paths(), self.shown_context)

    def client(self) -> Client:
        """Return a client that is not open yet; raise if there is no kubeconfig or no such context."""
        names_none = self.kubeconfig is None and self.context is None
        if names_none and "KUBECONFIG" not in os.environ and _IN_CLUSTER in os.environ:
            return Client(from_environment(), user_agent=USER_AGENT)
        paths = self._paths()
        _ensure_configured(paths, self.context)
        found = os.pathsep.join(map(str, paths))
        return Client(from_kubeconfig(found, self.context), user_agent=USER_AGENT)

    def _paths(self) -> list[Path]:
        named = self.kubeconfig or os.environ.get("KUBECONFIG")
        if not named:
            return [Path.home() / ".kube" / "config"]
        return [Path(path) for path in named.split(os.pathsep) if path]


def _namespace_of(paths: Sequence[Path], context: str | None) -> str | None:
    """Return the namespace of a context; the first file that names something wins."""
    contexts: dict[str, str | None] = {}
    for content in _kubeconfigs(paths):
        context = context or content.get("current-context")
        # The client reports an entry that is not as it should be.
        with contextlib.suppress(AttributeError, LookupError, TypeError):
            for entry in content.get("contexts") or ():
                contexts.setdefault(entry["name"], (entry.get("context") or {}).get("namespace"))
    return contexts.get(context or "")


def _current_context(paths: Sequence[Path]) -> str:
    for content in _kubeconfigs(paths):
        if content.get("current-context"):
            return str(content["current-context"])
    return ""


def _server_of(paths: Sequence[Path], context: str) -> str:
    contexts: dict[str, str] = {}
    servers: dict[str, str] = {}
    for content in _kubeconfigs(paths):
        with contextlib.suppress(AttributeError, LookupError, TypeError):
            for entry in content.get("contexts") or ():
                contexts.setdefault(entry["name"], entry["context"]["cluster"])
            for entry in content.get("clusters") or ():
                servers.setdefault(entry["name"], entry["cluster"]["server"])
    return servers.get(contexts.get(context, ""), "")


def _ensure_configured(paths: Sequence[Path], context: str | None) -> None:
    """Raise if no file exists, or none has the context: the library's errors name no remedy."""
    listed = ", ".join(map(str, paths))
    if not any(path.exists() for path in paths):
        raise ConfigError(f"no kubeconfig: {listed} does not exist. {_NAME_ONE}")
    if context is None:
        return
    known: list[str] = []
    for content in _kubeconfigs(paths):
        with contextlib.suppress(AttributeError, LookupError, TypeError):
            known += [entry["name"] for entry in content.get("contexts") or ()]
    if context not in known:
        raise ConfigError(
            f"no context {context} in {listed}. Contexts: {', '.join(known) or 'none'}"
        )


def _kubeconfigs(paths: Sequence[Path]) -> Iterator[Mapping[str, Any]]:
    """Yield the files that can be read; the client reports the others."""
    for path in paths:
        with contextlib.suppress(OSError, ValueError, yaml.YAMLError):
            content = yaml.safe_load(path.read_text())
            if isinstance(content, dict):
                yield content


@contextlib.asynccontextmanager
async def connected(target: CommandTarget) -> AsyncIterator[Client]:
    """Open the client of a target."""
    async with target.client() as client:
        yield client


async def read(
    client: Client, target: CommandTarget, parts: frozenset[Part], *, needs_sets: bool = True
) -> Snapshot:
    """Read what a command needs, one list per kind.

    Most verbs are about sets and fail without them; others report that they cannot be read.
    """
    return await _Reader(client, target.scope).read(parts, target.clock, needs_sets=needs_sets)


class NotServedError(KubeError):
    """The cluster does not know a kind of the product."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(
            f"this cluster does not serve {resource}. Install the CRDs and core:"
            " kubectl apply --server-side -k deploy/core. What else is missing: kubectl gang doctor"
        )


_Call = Callable[[], Coroutine[Any, Any, Any]]


class _Reader:
    def __init__(self, client: Client, scope: str | None) -> None:
        self._client = client
        self._scope = scope
        self._unread: dict[str, str] = {}
        self._unserved: set[str] = set()

    async def read(self, parts: frozenset[Part], clock: Clock, *, needs_sets: bool) -> Snapshot:
        """Start all lists at once, and wait for them."""
        wanted: dict[str, _Call] = {
            "gangs": lambda: self._list(GANGS, LooseObject, self._scope),
            "pods": lambda: self._pods(everywhere=Part.CAPACITY in parts),
        }
        optional: dict[Part, tuple[str, _Call]] = {
            Part.CLIQUES: ("cliques", lambda: self._list(CLIQUES, LooseObject, self._scope)),
            Part.GROUPS: ("groups", lambda: self._list(GROUPS, LooseObject, self._scope)),
            Part.BINDINGS: ("bindings", lambda: self._list(BINDINGS, LooseObject)),
            Part.AUTOSCALERS: ("hpas", lambda: self._list(HPAS, LooseObject, self._scope)),
            Part.SCHEDULER_OBJECTS: ("scheduler_objects", self._scheduler_objects),
        }
        wanted |= {name: call for part, (name, call) in optional.items() if part in parts}
        if Part.BACKENDS in parts:
            wanted["backends"] = lambda: self._list(BACKENDS, LooseObject)
            wanted["leases"] = self._leases
        if Part.VERSIONS in parts:
            wanted["deployments"] = lambda: self._list(DEPLOYMENTS, ListedDeployment)
            wanted["server_version"] = self._version
        if Part.CAPACITY in parts:
            wanted["nodes"] = lambda: self._list(NODES, ListedNode)
        async with asyncio.TaskGroup() as group:
            listing = (
                self._required(SETS) if needs_sets else self._list(SETS, LooseObject, self._scope)
            )
            sets = group.create_task(listing)
            tasks = {name: group.create_task(call()) for name, call in wanted.items()}
        found = {name: task.result() for name, task in tasks.items()}
        return Snapshot(
            clock.utc(),
            sets=sets.result(),
            unread=self._unread,
            unserved=frozenset(self._unserved),
            **found,
        )

    async def _required(self, resource: Resource) -> list[LooseObject]:
        try:
            return await self._all(resource, LooseObject, self._scope)
        except NotFound as error:
            raise NotServedError(resource) from error

    async def _list(self, resource: Resource, into: type[T], scope: str | None = None) -> list[T]:
        try:
            return await self._all(resource, into, scope)
        except (Forbidden, NotFound) as error:
            self._unread[resource.plural] = str(error)
            if isinstance(error, NotFound):
                self._unserved.add(resource.plural)
            return []

    async def _all(self, resource: Resource, into: type[T], scope: str | None) -> list[T]:
        found: list[T] = []
        pages = self._client.pages(
            resource, scope if resource.namespaced else None, into=into, limit=_PAGE
        )
        async for page in pages:
            found += page.items
        return found

    async def _pods(self, *, everywhere: bool) -> list[ListedPod]:
        found = await self._list(PODS, ListedPod, None if everywhere else self._scope)
        if PODS.plural in self._unread and everywhere and self._scope is not None:
            # Without the pods of others free capacity is unknown, and the rest can be reported.
            with contextlib.suppress(Forbidden):
                found = await self._all(PODS, ListedPod, self._scope)
        return found

    async def _version(self) -> str:
        try:
            body = await self._client.raw("/version")
        except (Forbidden, NotFound):
            return ""
        return msgspec.json.decode(body, type=_ServerVersion).git_version

    async def _leases(self) -> list[ListedLease]:
        return await self._list(LEASES, ListedLease)

    async def _scheduler_objects(self) -> list[SchedulerObject]:
        """Read the objects of all kinds that schedulers keep for groups of pods."""
        found: list[SchedulerObject] = []
        for resource in await scheduler_kinds(self._client):
            items = await self._list(resource, LooseObject, self._scope)
            found += [scheduler_object(resource, item) for item in items]
        return found


async def scheduler_kinds(client: Client) -> list[Resource]:
    """Return the kinds that schedulers keep for groups of pods, as far as the cluster serves them."""
    groups = msgspec.json.decode(await client.raw("/apis"), type=_Groups).groups
    kinds: list[Resource] = []
    for group in groups:
        if not group.name.startswith(_SCHEDULING):
            continue
        seen: set[str] = set()
        for version in group.versions:
            with contextlib.suppress(KubeError):
                path = f"/apis/{group.name}/{version.version}"
                listed = msgspec.json.decode(await client.raw(path), type=_Kinds)
                for kind in listed.resources:
                    # Every version shows the same objects.
                    if kind.is_for_groups and kind.name not in seen:
                        seen.add(kind.name)
                        kinds.append(Resource(group.name, version.version, kind.name, kind.kind))
    return kinds


def scheduler_object(resource: Resource, item: LooseObject) -> SchedulerObject:
    """Return an object of a scheduler with its state."""
    owners = tuple(owner.uid for owner in item.metadata.owner_references)
    state = str(item.status.get("phase") or _first_condition(item))
    return SchedulerObject(resource.kind, item.metadata.name, owners, state)


def _first_condition(item: LooseObject) -> str:
    for entry in item.status.get("conditions") or ():
        return f"{entry.get('type')}={entry.get('status')}"
    return ""


class _ServerVersion(msgspec.Struct, rename="camel"):
    git_version: str = ""


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    name: str
    versions: list[_Version] = []


class _Groups(msgspec.Struct):
    groups: list[_Group] = []


class _Kind(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool = False
    verbs: list[str] = []

    @property
    def is_for_groups(self) -> bool:
        return self.namespaced and "list" in self.verbs and self.kind.endswith(_GROUP_KINDS)


class _Kinds(msgspec.Struct):
    resources: list[_Kind] = []


_GROUP_KINDS = ("PodGroup", "Workload")
