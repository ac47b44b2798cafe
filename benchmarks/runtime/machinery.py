"""What the memory- and CPU-saving parts of the runtime earn: each with and without it.

A part that earns nothing here must go; the figures are in docs/performance.md.
"""

import asyncio
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import tenacity

from benchmarks.runtime.figures import Figure, compare
from benchmarks.runtime.loopback import event
from shared_api.kube.codec import PartialObject, codec_for, share_memory
from shared_api.kube.pods import Pod
from shared_api.kube.retry import RetryPolicy
from shared_api.runtime.applying.applied_fields import applied
from tests.kube.samples import pod

PODS = 2_000
OBJECTS = 500
ROUNDS = 7

_RESIDENT = "print(int(open('/proc/self/statm').read().split()[1]) / 256)"


def measure() -> list[Figure]:
    """All figures of this module."""
    memory = {"ours": _memory(shared=True), "without share_memory": _memory(shared=False)}
    bodies = [json.dumps(_written(number)).encode() for number in range(OBJECTS)]
    into = codec_for(applied(PartialObject))
    fingerprints = {
        "kept unread": _cpu(into.one, bodies),
        "read at once": _cpu(lambda body: into.one(body).read(), bodies),
    }
    imported = {
        "loaders only": _imported("import shared_api.kube.loaders"),
        "whole library": _imported(
            "import kubernetes_asyncio.config.kube_config, kubernetes_asyncio.client"
        ),
    }
    retried = {
        "first attempt outside of tenacity": asyncio.run(_attempted(_outside)),
        "every attempt inside": asyncio.run(_attempted(_inside)),
    }
    return [
        *compare("CPU of the retries of a request that succeeds", "us", retried),
        *compare("allocated per cached pod", "KiB", memory),
        *compare("CPU per version of an applied object", "us", fingerprints),
        *compare("memory of a process with the configuration loaders", "MiB", imported),
    ]


def _memory(*, shared: bool) -> float:
    lines = [event(number, 10 + number, "ADDED") for number in range(PODS)]
    codec = codec_for(Pod)
    kept = []
    tracemalloc.start()
    try:
        for line in lines:
            decoded: Any = codec.event(line)
            if shared:
                share_memory(decoded.object)
            kept.append(decoded.object)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return used / len(kept) / 1024


def _cpu(work: Callable[[bytes], object], bodies: Iterable[bytes]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began, count = time.process_time(), 0
        for body in bodies:
            work(body)
            count += 1
        best = min(best, (time.process_time() - began) / count * 1e6)
    return best


async def _attempted(policy: Callable[[], Awaitable[None]]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(PODS):
            await policy()
        best = min(best, (time.process_time() - began) / PODS * 1e6)
    return best


async def _succeed() -> None:
    """Stands for a request."""


async def _outside() -> None:
    await RetryPolicy().run(_succeed, repeatable=True)


async def _inside() -> None:
    async for turn in tenacity.AsyncRetrying(stop=tenacity.stop_after_attempt(6), reraise=True):
        with turn:
            await _succeed()


def _imported(code: str) -> float:
    done = subprocess.run(  # noqa: S603 - code of this module
        [sys.executable, "-c", f"{code};{_RESIDENT}"], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def _written(number: int) -> dict[str, Any]:
    """An object of the size of a PodClique, of which we applied spec and status."""
    shown = pod(number)
    condition = {"status": "True", "reason": "R", "message": "m", "lastTransitionTime": "t"}
    value = {
        "metadata": shown["metadata"],
        "spec": {"replicas": 2, "minAvailable": 2, "podSpec": shown["spec"]},
        "status": {
            "replicas": 2,
            "readyReplicas": 2,
            "conditions": [{"type": kind, **condition} for kind in "ABC"],
        },
    }
    ours = {"manager": "us", "operation": "Apply", "apiVersion": "v1"}
    value["metadata"]["managedFields"] = [
        ours | {"fieldsV1": _fields({"spec": value["spec"]})},
        ours | {"subresource": "status", "fieldsV1": _fields({"status": value["status"]})},
    ]
    return value


def _fields(value: dict[str, Any]) -> dict[str, Any]:
    return {
        f"f:{name}": _fields(part) if isinstance(part, dict) and part else {}
        for name, part in value.items()
    }
