"""Core and the Volcano backend on Volcano's cluster, and what a person does there."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from backend_controllers.generic.kinds import GANGS
from backend_controllers.volcano import BACKEND
from backend_controllers.volcano.api import KEY_QUEUE
from backend_controllers.volcano.installation import VolcanoOptions
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import NotFound
from shared_api.kube.resources import Resource
from tests.backends.kit import RunningBackend, backend_settings, running_backend
from tests.core.kit import Object, Onlooker, condition, holds, pcs, running_operator

SECONDS = 60.0


@contextlib.asynccontextmanager
async def product(cluster: Cluster, **options: Any) -> AsyncIterator[RunningBackend]:
    """Both programs, until the block ends."""
    settings = backend_settings(VolcanoOptions(**options))
    async with running_operator(cluster), running_backend(cluster, BACKEND, settings) as backend:
        await backend.until_serving(SECONDS)
        yield backend


def volcanic(name: str, *cliques: Object, queue: str = "", **template: Any) -> Object:
    """A set for Volcano."""
    annotations = {names.ANNOTATION_SCHEDULER_BACKEND: "volcano"}
    if queue:
        annotations[KEY_QUEUE] = queue
    return pcs(name, *cliques, annotations=annotations, **template)


@contextlib.asynccontextmanager
async def existing(person: Onlooker, kind: Resource, name: str, **body: Any) -> AsyncIterator[None]:
    """Something that is there until the block ends."""
    manifest = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, **({"namespace": person.namespace} if kind.namespaced else {})},
        **body,
    }
    client, namespace = person.client, person.namespace if kind.namespaced else None
    made = await client.create(kind, manifest, field_manager="stranger", into=PartialObject)
    try:
        yield
    finally:
        with contextlib.suppress(NotFound):
            await client.delete(kind, name, namespace, uid=made.metadata.uid)


def message(person: Onlooker, gang: str, kind: str) -> str:
    return str(condition(person.get(GANGS, gang), kind).get("message", ""))


async def until_said(person: Onlooker, gang: str, kind: str, reason: str) -> str:
    """Wait until a gang says no for this reason; the message."""

    def is_said() -> bool:
        found = condition(person.get(GANGS, gang), kind)
        return (found.get("status"), found.get("reason")) == ("False", reason)

    await person.until(is_said, SECONDS)
    return message(person, gang, kind)


async def until_running(person: Onlooker, gang: str) -> None:
    await person.until(lambda: holds(person.get(GANGS, gang), "Ready"), SECONDS)


def bound(person: Onlooker) -> list[str]:
    """Clique and index of the pods that have a node."""
    labels = [pod.metadata.labels for pod in person.pods if pod.spec.get("nodeName")]
    return sorted(f"{of[names.LABEL_PODCLIQUE]}-{of[names.LABEL_POD_INDEX]}" for of in labels)
