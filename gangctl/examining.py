"""Asks the server what `doctor` needs besides objects: served kinds, rights and feature gates.

It owns these requests. Access reviews store nothing. What the user may not ask is None or absent,
and the report shows it as unknown.
"""

import asyncio
import re
from collections.abc import Mapping

import msgspec

from gangctl.reports.doctor import ServerAnswers
from shared_api.kube.client import Client
from shared_api.kube.errors import ApiError, Forbidden, KubeError
from shared_api.kube.resources import Resource

_REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    namespaced=False,
)
_RIGHTS: Mapping[str, Mapping[str, str]] = {
    "list podcliquesets": {"verb": "list", "group": "grove.io", "resource": "podcliquesets"},
    "create podcliquesets": {"verb": "create", "group": "grove.io", "resource": "podcliquesets"},
    "scale podcliquesets": {
        "verb": "patch",
        "group": "grove.io",
        "resource": "podcliquesets",
        "subresource": "scale",
    },
    "list podgangs": {"verb": "list", "group": "scheduler.grove.io", "resource": "podgangs"},
    "list schedulerbackends": {
        "verb": "list",
        "group": "grove.io",
        "resource": "schedulerbackends",
    },
    "list pods of all namespaces": {"verb": "list", "resource": "pods"},
    "read logs": {"verb": "get", "resource": "pods", "subresource": "log"},
    "list nodes": {"verb": "list", "resource": "nodes"},
}
# Rights that are asked for the namespace of the command; the others for the whole cluster.
_IN_NAMESPACE = frozenset(
    {
        "list podcliquesets",
        "create podcliquesets",
        "scale podcliquesets",
        "list podgangs",
        "read logs",
    }
)
_GATE = re.compile(rb'^kubernetes_feature_enabled\{name="(\w+)"[^}]*\} ([01])', re.MULTILINE)


async def examine(client: Client, namespace: str) -> ServerAnswers:
    """Ask all questions at once."""
    async with asyncio.TaskGroup() as group:
        kinds = group.create_task(_kinds(client))
        gates = group.create_task(_gates(client))
        rights = {
            name: group.create_task(
                _may(
                    client, {**asked, **({"namespace": namespace} if name in _IN_NAMESPACE else {})}
                )
            )
            for name, asked in _RIGHTS.items()
        }
    found = {name: task.result() for name, task in rights.items()}
    return ServerAnswers(kinds.result(), found, gates.result())


async def _may(client: Client, attributes: Mapping[str, str]) -> bool | None:
    manifest = {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    try:
        answer = await client.create(_REVIEWS, manifest, field_manager="kubectl-gang", into=_Review)
    except ApiError:
        return None
    return answer.status.allowed


async def _gates(client: Client) -> Mapping[str, bool] | None:
    try:
        body = await client.raw("/metrics")
    except KubeError:
        return None
    return {name.decode(): value == b"1" for name, value in _GATE.findall(body)}


async def _kinds(client: Client) -> dict[str, frozenset[str]] | None:
    """Return the kinds of the API groups that gangs need, by API version; None if forbidden."""
    try:
        body = await client.raw("/apis")
    except Forbidden:
        return None
    groups = msgspec.json.decode(body, type=_Groups).groups
    versions = [
        version.group_version
        for group in groups
        if group.name.endswith("grove.io") or group.name.startswith("scheduling.")
        for version in group.versions
    ]
    found = {}
    for version in versions:
        try:
            body = await client.raw(f"/apis/{version}")
        except ApiError:
            continue
        listed = msgspec.json.decode(body, type=_Kinds).resources
        found[version] = frozenset(kind.kind for kind in listed)
    return found


class _Allowed(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _Allowed = msgspec.field(default_factory=_Allowed)


class _Version(msgspec.Struct, rename="camel"):
    group_version: str


class _Group(msgspec.Struct):
    name: str
    versions: list[_Version] = []


class _Groups(msgspec.Struct):
    groups: list[_Group] = []


class _Kind(msgspec.Struct):
    kind: str


class _Kinds(msgspec.Struct):
    resources: list[_Kind] = []
