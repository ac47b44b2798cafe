"""Watch events as the API server words them, and a way to collect what a reflector makes of them."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject, Projection
from shared_api.kube.resources import PODS
from shared_api.runtime.clock import Clock
from shared_api.runtime.watching.reflector import (
    Advanced,
    Changed,
    Delta,
    Reflector,
    Removed,
    Restarted,
    Source,
    Synced,
    Undecoded,
    WatchTiming,
)

T = TypeVar("T", bound=Projection)
Json = dict[str, Any]


def item(name: str, version: int, uid: str = "") -> Json:
    metadata = {
        "name": name,
        "namespace": "n",
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
    }
    return {"kind": "Pod", "metadata": metadata}


def added(name: str, version: int, uid: str = "") -> Json:
    return {"type": "ADDED", "object": item(name, version, uid)}


def modified(name: str, version: int) -> Json:
    return {"type": "MODIFIED", "object": item(name, version)}


def deleted(name: str, version: int) -> Json:
    return {"type": "DELETED", "object": item(name, version)}


def bookmark(version: int, *, end: bool = False) -> Json:
    metadata: Json = {"resourceVersion": str(version)}
    if end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": metadata}}


def error(code: int, reason: str) -> Json:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": reason}}


def reflector(client: Client, clock: Clock, **options: Any) -> Reflector[PartialObject]:
    """A reflector of pods without jitter, so that times are exact."""
    timing = options.pop("timing", WatchTiming(random=lambda: 0.0))
    return Reflector(client, Source(PODS, PartialObject), timing=timing, clock=clock, **options)


async def deltas(source: Reflector[T]) -> AsyncGenerator[Delta[T], None]:
    """What a reflector tells, one by one."""
    async with contextlib.aclosing(source.batches()) as batches:
        async for batch in batches:
            for delta in batch:
                yield delta


async def collect(source: Reflector[T], count: int) -> list[str]:
    """The first deltas, each as a short word."""
    seen: list[str] = []
    async with contextlib.aclosing(deltas(source)) as found:
        async for delta in found:
            seen.append(word(delta))
            if len(seen) == count:
                break
    return seen


def word(delta: Delta[T]) -> str:
    match delta:
        case Restarted():
            return "restarted"
        case Changed(object=value):
            return f"{value.metadata.name}@{value.metadata.resource_version}"
        case Undecoded(object=value):
            return f"?{value.metadata.name}@{value.metadata.resource_version}"
        case Removed(object=value):
            return f"-{value.metadata.name}@{value.metadata.resource_version}"
        case Synced(resource_version=version):
            return f"synced@{version}"
        case Advanced(resource_version=version):
            return f"to@{version}"
