"""Gangs, cliques, placeholders and events as YuniKorn's pure functions get them."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from backend_controllers.contract.cliques import CLIQUES
from backend_controllers.contract.declaration import Translation
from backend_controllers.contract.events import EVENTS, SchedulerEvent
from backend_controllers.yunikorn.api import (
    KEY_APPLICATION,
    KEY_GROUP,
    KEY_GROUPS,
    KEY_PLACEHOLDER_OF,
    YunikornClique,
)
from backend_controllers.yunikorn.options import YuniKornOptions
from backend_controllers.yunikorn.translation import translate
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang, ObservedReference
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS, Resource
from shared_api.runtime.watching.predicates import Watched

Object = dict[str, Any]

NAMESPACE = "team-a"
UID = "0b6c1d9e-5f7a-4c7e-9d64-0c2a7d0f5a11"
APPLICATION = "web-0-0b6c1d9e-0"
WAITS = "request is waiting for cluster resources become available"


def group(name: str, minimum: int = 1, **fields: Any) -> Object:
    return {"name": name, "podReferences": [], "minReplicas": minimum, **fields}


def gang(*groups: Object, incarnation: int | None = None, **fields: Any) -> ObservedPodGang:
    """A gang of two groups, unless others are given."""
    status: Object = {"conditions": fields.pop("conditions", [])}
    if incarnation is not None:
        status["incarnation"] = incarnation
    metadata = {"name": "web-0", "namespace": NAMESPACE, "uid": UID, **fields.pop("metadata", {})}
    listed = list(groups) or [group("web-0-a", 2), group("web-0-b", 1)]
    body = {"metadata": metadata, "spec": {"podgroups": listed, **fields}, "status": status}
    return msgspec.convert(body, ObservedPodGang)


def referring(to: ObservedPodGang, pods: Iterable[Pod]) -> ObservedPodGang:
    """The same gang, whose groups refer to these pods."""
    found = tuple(pods)
    groups = tuple(
        msgspec.structs.replace(
            each,
            pod_references=tuple(
                ObservedReference(NAMESPACE, one.metadata.name)
                for one in found
                if one.metadata.labels[names.LABEL_PODCLIQUE] == each.name
            ),
        )
        for each in to.spec.podgroups
    )
    spec = msgspec.structs.replace(to.spec, podgroups=groups)
    return msgspec.structs.replace(to, spec=spec)


def since(status: str, at: str = "2026-11-16T09:00:00Z") -> Object:
    """What a gang says about being placed, and since when."""
    return {
        "type": "Scheduled",
        "status": status,
        "reason": "PodsPending",
        "message": "",
        "lastTransitionTime": at,
    }


def container(name: str = "main", **resources: Any) -> Object:
    amounts = {"requests": resources.pop("requests", {}), "limits": resources.pop("limits", {})}
    return {"name": name, "resources": amounts, **resources}


def clique(name: str = "web-0-a", **fields: Any) -> tuple[Resource, Watched]:
    """A clique whose pods ask for one CPU, unless their template says otherwise."""
    template = {"containers": [container(requests={"cpu": "1"})], **fields.pop("template", {})}
    body = {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {names.LABEL_PODGANG: "web-0"},
        },
        "spec": {"podSpec": template, **fields},
    }
    return CLIQUES, msgspec.convert(body, YunikornClique)


def cliques(*templates: Object) -> list[tuple[Resource, Watched]]:
    """The cliques of the usual gang."""
    padded: list[Object] = [*templates, {}, {}]
    return [clique(name, template=padded.pop(0)) for name in ("web-0-a", "web-0-b")]


class GivenFacts:
    """Facts that a test states."""

    def __init__(
        self,
        *objects: tuple[Resource, Watched],
        pods: Iterable[Pod] = (),
        leaving: tuple[Pod, ...] = (),
    ) -> None:
        self.pods = tuple(pods)
        self.leaving = leaving
        self._objects = {
            (resource, value.metadata.namespace or "", value.metadata.name): value
            for resource, value in objects
        }

    def owned(self, resource: Resource) -> tuple[Watched, ...]:
        del resource
        return ()

    def get(self, resource: Resource, namespace: str, name: str) -> Watched | None:
        return self._objects.get((resource, namespace, name))

    def all(self, resource: Resource) -> tuple[Watched, ...]:
        return tuple(value for key, value in self._objects.items() if key[0] == resource)


def translated(
    of: ObservedPodGang | None = None, *given: tuple[Resource, Watched], **options: Any
) -> Translation:
    facts = GivenFacts(*(given or cliques()))
    return translate(YuniKornOptions(**options), of or gang(), facts)


def rows(translation: Translation) -> list[Object]:
    """The table of groups, which must be the same for all."""
    tables = {
        preparation.members.annotations[KEY_GROUPS]
        for preparation in translation.preparations
        if preparation.members is not None and KEY_GROUPS in preparation.members.annotations
    }
    (text,) = tables
    found: list[Object] = json.loads(text)
    return found


def pod(name: str, of: str = "web-0-a", *conditions: Object, **fields: Any) -> Pod:
    """A released pod of the gang."""
    body = {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {
                names.LABEL_PODCLIQUE: of,
                names.LABEL_PODGANG: "web-0",
                names.LABEL_POD_INDEX: fields.get("index", "0"),
            },
        },
        "spec": {
            "nodeName": fields.get("node", ""),
            "schedulingGates": [{"name": gate} for gate in fields.get("gates", ())],
        },
        "status": {"phase": fields.get("phase", "Pending"), "conditions": list(conditions)},
    }
    return msgspec.convert(body, Pod)


MEMBERS = (pod("web-0-a-xxxx1"), pod("web-0-a-xxxx2"), pod("web-0-b-xxxx3", "web-0-b"))


def placeholder(
    name: str, of: str = "web-0-a", *conditions: Object, **fields: Any
) -> tuple[Resource, Watched]:
    metadata: Object = {
        "name": name,
        "namespace": fields.get("namespace", NAMESPACE),
        "labels": {
            KEY_PLACEHOLDER_OF: "web-0",
            KEY_APPLICATION: fields.get("application", APPLICATION),
        },
        "annotations": {KEY_GROUP: of},
    }
    if fields.get("going"):
        metadata["deletionTimestamp"] = "2026-11-16T09:30:00Z"
    body = {
        "metadata": metadata,
        "spec": {"nodeName": fields.get("node", "")},
        "status": {"phase": "Pending", "conditions": list(conditions)},
    }
    return PODS, msgspec.convert(body, Pod)


def not_scheduled(message: str = WAITS, reason: str = "Unschedulable") -> Object:
    return {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}


def event(
    about: str, message: str, at: str = "2026-11-16T09:10:00.123456Z", **fields: Any
) -> tuple[Resource, Watched]:
    namespace = fields.pop("namespace", NAMESPACE)
    body = {
        "metadata": {"name": f"{about}.{at}", "namespace": namespace},
        "involvedObject": {"name": about, "namespace": namespace},
        "message": message,
        "eventTime": at,
        **fields,
    }
    return EVENTS, msgspec.convert(body, SchedulerEvent)
