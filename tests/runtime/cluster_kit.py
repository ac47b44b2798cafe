"""A client, caches and a toy kind on the real API server."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from local_cluster.cluster import Cluster
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import Resource
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Reflector, Source

TOYS = Resource("runtime.test", "v1", "toys", "Toy")
Toy = Applied[LooseObject]

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_CONDITIONS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
    },
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "toys.runtime.test"},
    "spec": {
        "group": "runtime.test",
        "scope": "Namespaced",
        "names": {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer"},
                                    "note": {"type": "string"},
                                    "mode": {"type": "string", "default": "calm"},
                                    "parts": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "properties": {
                                                "name": {"type": "string"},
                                                "kind": {"type": "string", "default": "wheel"},
                                            },
                                        },
                                    },
                                    "anything": _ANYTHING,
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {"conditions": _CONDITIONS},
                            },
                        },
                    }
                },
            }
        ],
    },
}


class Requests:
    """What a client sent, by verb."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __call__(self, verb: str, resource: str, code: int, seconds: float) -> None:
        self.seen[verb] += 1

    def writes(self) -> int:
        return sum(self.seen[verb] for verb in ("POST", "APPLY", "PATCH", "DELETE"))


def install_toys(cluster: Cluster) -> None:
    cluster.kubectl("apply", "--filename=-", input=json.dumps(CRD))
    cluster.kubectl("wait", "--for=condition=Established", "crd/toys.runtime.test")


def client_of(kubeconfig: Path, requests: Requests | None = None) -> Client:
    return Client(from_kubeconfig(kubeconfig), observe=requests)


@contextlib.asynccontextmanager
async def toy_cache(client: Client, namespace: str) -> AsyncIterator[Cache[Toy]]:
    """A cache of the toys of a namespace, filled as long as the block lasts."""
    cache: Cache[Toy] = Cache()
    reflector = Reflector(client, Source(TOYS, applied(LooseObject), namespace))
    async with asyncio.TaskGroup() as group:
        filling = group.create_task(cache.run(reflector))
        async with asyncio.timeout(20):
            await cache.wait_synced()
        try:
            yield cache
        finally:
            filling.cancel()


async def until(cache: Cache[Toy], condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for a change of the cache after which the condition holds."""
    changed = asyncio.Event()
    cache.subscribe(lambda old, new: changed.set())
    async with asyncio.timeout(seconds):
        while not condition():
            await changed.wait()
            changed.clear()
