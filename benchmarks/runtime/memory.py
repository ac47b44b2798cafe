"""Memory of one cached pod: each form in a process of its own, by what that process grew."""

import asyncio
import gc
import json
import multiprocessing
import os
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kubernetes_asyncio.client import ApiClient

from benchmarks.runtime.figures import Figure, compare
from benchmarks.runtime.loopback import event
from shared_api.kube.codec import codec_for
from shared_api.kube.pods import Pod
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Restarted, Synced

CACHED = 5_000
FEW = 1_000

Keep = Callable[[Iterable[bytes]], Any]


def measure() -> list[Figure]:
    """All figures of this module."""
    grown = {
        "ours": _grown(_as_projections, CACHED),
        "plain dicts": _grown(_as_dicts, FEW),
        "kubernetes_asyncio V1Pod": _grown(_as_models, FEW),
    }
    return compare("memory per cached pod", "KiB", grown, 1.5)


def _as_projections(lines: Iterable[bytes]) -> Any:
    cache: Cache[Pod] = Cache({"node": lambda value: (value.spec.node_name,)})
    codec = codec_for(Pod)
    cache.take(Restarted())
    for line in lines:
        decoded = codec.event(line)
        cache.take(Changed(decoded.object))  # type: ignore[union-attr, arg-type]
    cache.take(Synced("1"))
    return cache


def _as_dicts(lines: Iterable[bytes]) -> Any:
    values = (json.loads(line)["object"] for line in lines)
    return {(value["metadata"]["namespace"], value["metadata"]["name"]): value for value in values}


def _as_models(lines: Iterable[bytes]) -> Any:
    return asyncio.run(_deserialized(lines))


async def _deserialized(lines: Iterable[bytes]) -> Any:
    async with ApiClient() as client:
        values = (
            client.deserialize(
                SimpleNamespace(data=json.dumps(json.loads(line)["object"])), "V1Pod"
            )
            for line in lines
        )
        return {(value.metadata.namespace, value.metadata.name): value for value in values}


def _grown(keep: Keep, count: int) -> float:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_child, args=(there, keep, count))
    process.start()
    grown: float = here.recv()
    process.join()
    return grown / count / 1024


def _child(pipe: Connection, keep: Keep, count: int) -> None:
    # What a first pod loads (decoders, models) belongs to no pod.
    first = keep(iter([event(0, 1, "ADDED")]))
    gc.collect()
    before = _resident()
    kept = keep(event(number, 10 + number, "ADDED") for number in range(count))
    gc.collect()
    pipe.send(_resident() - before)
    del first, kept


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
