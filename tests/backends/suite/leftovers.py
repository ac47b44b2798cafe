"""What is in a namespace, of every kind that the cluster serves."""

import json
from collections.abc import AsyncIterator
from typing import Any

from backend_controllers.generic.kinds import GANGS
from local_cluster.waiting import until
from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import Resource
from tests.backends.suite.stage import SECONDS, Stage

# What Kubernetes itself puts into every namespace, and what only tells of the past.
_OF_NOBODY = frozenset({"serviceaccounts", "configmaps", "events"})


async def until_nothing_is_left(stage: Stage, group: str | None = None) -> None:
    """Wait until nothing that somebody made is in the namespace, or nothing of one API group."""
    kubeconfig = stage.bed.cluster.kubeconfig
    async for kind, found in _contents(stage):
        if found and group in (None, kind.group):
            path = kind.path(stage.namespace)
            await until(kubeconfig, path, lambda items: not items, seconds=SECONDS)


async def until_owns_nothing(stage: Stage, gang: str) -> None:
    """Wait until a gang controls no object of any kind; finalizers of a scheduler take a moment."""

    def is_owned(item: dict[str, Any]) -> bool:
        owners = item["metadata"].get("ownerReferences", ())
        return any((one["kind"], one["name"]) == (GANGS.kind, gang) for one in owners)

    async for kind, found in _contents(stage):
        if found:
            await until(
                stage.bed.cluster.kubeconfig,
                kind.path(stage.namespace),
                lambda items: not any(map(is_owned, items)),
                seconds=SECONDS,
            )


async def owned_by(stage: Stage, gang: str) -> dict[str, str]:
    """The UIDs of what a gang controls, of any kind."""
    return {
        f"{kind}/{item.metadata.name}": item.metadata.uid
        async for kind, found in _contents(stage)
        for item in found
        if (owner := item.metadata.controller) is not None
        and (owner.kind, owner.name) == (GANGS.kind, gang)
    }


async def _contents(stage: Stage) -> AsyncIterator[tuple[Resource, list[PartialObject]]]:
    """What there is of each kind."""
    client = stage.person.client
    async for kind in _kinds(client):
        found: list[PartialObject] = []
        async for page in client.pages(kind, stage.namespace, into=PartialObject):
            found += page.items
        yield kind, found


async def _kinds(client: Client) -> AsyncIterator[Resource]:
    """Every namespaced kind that can be watched, in one of its versions."""
    versions = [("", "v1")]
    for group in json.loads(await client.raw("/apis"))["groups"]:
        versions += [(group["name"], version["version"]) for version in group["versions"]]
    seen = set()
    for group, version in versions:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        for kind in json.loads(await client.raw(path))["resources"]:
            plural, is_new = kind["name"], (group, kind["name"]) not in seen
            seen.add((group, plural))
            can_be_left = kind["namespaced"] and "watch" in kind["verbs"]
            if is_new and can_be_left and plural not in _OF_NOBODY:
                yield Resource(group, version, plural, kind["kind"])
