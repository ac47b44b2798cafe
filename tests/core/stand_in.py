"""A backend of a few lines: it registers, renews a Lease and marks its gangs as programmed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from core_operator.state.caches import BACKENDS, GANGS
from shared_api import names
from shared_api.kube.client import Client, Patch, Selector
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import AlreadyExists, Conflict, Invalid, KubeError, NotFound
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import LEASES, Resource
from shared_api.runtime.clock import SYSTEM, micro_time
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source

Object = dict[str, Any]
GATE = "example.com/stand-in"
CAPABILITIES = ["Gang", "GroupMinimums"]
_RENEWAL = 2.0
_LONGEST = 9
"""Seconds; core believes no Lease for longer."""


def record(name: str, **spec: Any) -> Object:
    """A SchedulerBackend whose pods are left as they are."""
    return {
        "apiVersion": BACKENDS.api_version,
        "kind": BACKENDS.kind,
        "metadata": {"name": name},
        "spec": {
            "schedulerNames": [f"{name}-scheduler"],
            "capabilities": CAPABILITIES,
            "preparation": {"mode": "Static"},
            "schedulingGate": GATE,
            "lease": {"namespace": "default", "name": f"stand-in-{name}"},
            **spec,
        },
    }


def programmed(gang: LooseObject) -> Object:
    """What a backend says about a gang that it is done with."""
    del gang
    entry = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": ""}
    return {
        "conditions": [
            {"type": kind, "reason": kind, **entry}
            for kind in (names.CONDITION_ACCEPTED, names.CONDITION_PROGRAMMED)
        ]
    }


class StandIn:
    """One backend, as long as `serving` lasts."""

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        says: Callable[[LooseObject], Object | None] = programmed,
        writes: Callable[[LooseObject], list[tuple[Resource, Object]]] = lambda gang: [],
        **spec: Any,
    ) -> None:
        self.client = client
        self.name = name
        self.says = says
        self.writes = writes
        self.record = record(name, **spec)
        # A Lease that the test names is renewed by the test.
        key = ObjectKey(**self.record["spec"]["lease"])
        self._heart = None if "lease" in spec else Heart(client, key, seconds=_LONGEST)
        self._manager = f"{names.FIELD_MANAGER_BACKEND_PREFIX}{name}"
        self._told: dict[str, Object] = {}

    async def go_down(self) -> None:
        """Stop in an orderly way: the Lease is given back, and no gang gets an answer."""
        assert self._heart is not None
        await self._heart.give_back()

    async def come_back(self) -> None:
        """Start again."""
        assert self._heart is not None
        await self._heart.beat()

    async def register(self) -> None:
        """Leave the record, and a Lease that was renewed just now."""
        if self._heart is not None:
            with contextlib.suppress(AlreadyExists):
                await self._heart.start()
            await self._heart.beat()
        try:
            await self.client.apply(BACKENDS, self.record, field_manager=self._manager, force=True)
        except Invalid:
            # An apply that takes the last entry out of a map makes the server find null there.
            left = await self.client.get(BACKENDS, self.name, into=PartialObject)
            await self.client.delete(BACKENDS, self.name, uid=left.metadata.uid)
            await self.client.apply(BACKENDS, self.record, field_manager=self._manager, force=True)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Register, and answer for every gang with our label."""
        await self.register()
        cache: Cache[LooseObject] = Cache()
        labels = Selector(f"{names.LABEL_SCHEDULER_BACKEND}={self.name}")
        gangs = Reflector(self.client, Source(GANGS, LooseObject, selector=labels))
        unanswered: asyncio.Queue[LooseObject] = asyncio.Queue()
        cache.subscribe(lambda _, gang: unanswered.put_nowait(gang) if gang else None)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(cache.run(gangs))]
            tasks.append(group.create_task(self._answer(unanswered)))
            if self._heart is not None:
                tasks.append(group.create_task(self._heart.keep_beating()))
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def _answer(self, unanswered: "asyncio.Queue[LooseObject]") -> None:
        while True:
            gang = await unanswered.get()
            if self._heart is not None and self._heart.is_given_back:
                continue
            status = self.says(gang)
            if status is None or self._told.get(gang.metadata.uid) == status:
                continue
            for resource, written in self.writes(gang):
                with contextlib.suppress(AlreadyExists):
                    await self.client.create(
                        resource, written, field_manager=self._manager, into=PartialObject
                    )
            manifest = {
                "apiVersion": GANGS.api_version,
                "kind": GANGS.kind,
                "metadata": {
                    "name": gang.metadata.name,
                    "namespace": gang.metadata.namespace,
                    "uid": gang.metadata.uid,
                },
                "status": status,
            }
            with contextlib.suppress(NotFound, Conflict):
                await self.client.apply(
                    GANGS, manifest, field_manager=self._manager, force=True, subresource="status"
                )
                self._told[gang.metadata.uid] = status


class Heart:
    """A Lease that a test beats by hand."""

    def __init__(self, client: Client, key: ObjectKey, *, seconds: int = 3) -> None:
        self.client = client
        self.key = key
        self.seconds = seconds
        self.is_given_back = False
        # Two renewals, or a renewal and the end, must not overtake each other.
        self._one_by_one = asyncio.Lock()

    async def start(self) -> None:
        """Create the Lease, held by somebody."""
        manifest = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"namespace": self.key.namespace, "name": self.key.name},
            "spec": {"holderIdentity": "stand-in", "leaseDurationSeconds": self.seconds},
        }
        await self.client.create(LEASES, manifest, field_manager="test", into=PartialObject)

    async def keep_beating(self) -> None:
        """Renew it as a backend does; an outage of the server is waited out."""
        while True:
            await asyncio.sleep(_RENEWAL)
            with contextlib.suppress(KubeError):
                async with self._one_by_one:
                    if not self.is_given_back:
                        await self._renew()

    async def beat(self) -> None:
        """Renew it once, also after it was given back."""
        async with self._one_by_one:
            self.is_given_back = False
            await self._renew()

    async def give_back(self) -> None:
        """End it in an orderly way."""
        async with self._one_by_one:
            self.is_given_back = True
            await self._change({"holderIdentity": None})

    async def _renew(self) -> None:
        await self._change({"renewTime": micro_time(SYSTEM.utc()), "holderIdentity": "stand-in"})

    async def _change(self, spec: Object) -> None:
        await self.client.patch(
            LEASES,
            self.key.name,
            self.key.namespace,
            patch=Patch({"spec": spec}),
            field_manager="test",
        )
