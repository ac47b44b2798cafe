"""The order in which the pods of a gang start: how a pod is held, and when it may go.

A gang is scheduled whole, so a pod is held on its node, by an init container that reads an
annotation of its own pod from a file. The annotation first says what the pod waits for. Core
replaces it, once and for good, when each predecessor has as many ready pods as its gang needs
of it; that a predecessor fails later holds nobody. Pods without the annotation are never
touched, so pods that were made without an order keep starting without one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from core_operator.plan.gang_pods import GroupPods
from core_operator.plan.pods import is_bound
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, PodClique

INIT_CONTAINER = "grove-initc"
VOLUME = "grove-startup-order"
DIRECTORY = "/var/run/grove/startup-order"
FILE = "state"

# Equal requests and limits, so that a pod which is Guaranteed stays so. Nothing is added to
# what most pods ask for: the largest init container counts, not their sum.
_AMOUNTS: JsonObject = {**names.STARTUP_REQUESTS}


@dataclass(frozen=True, slots=True)
class Waiter:
    """What the init container runs, and as whom; user 0 stands for the image's own."""

    image: str
    command: tuple[str, ...]
    user: int


def in_order(podclique: PodClique, pod: JsonObject, waiter: Waiter) -> JsonObject:
    """The pod, held until its predecessors are ready; as it is if it has none."""
    awaited = podclique.spec.starts_after
    if not awaited:
        return pod
    metadata, spec = pod["metadata"], pod["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    annotations = metadata.get("annotations")
    held = {names.ANNOTATION_STARTUP_ORDER: f"{names.STARTUP_AFTER}{', '.join(awaited)}"}
    return {
        **pod,
        "metadata": {
            **metadata,
            "annotations": {**(annotations if isinstance(annotations, dict) else {}), **held},
        },
        "spec": {
            **spec,
            # Last: what users' own init containers fetch, they fetch while others start.
            "initContainers": [*_entries(spec, "initContainers"), _init_container(spec, waiter)],
            "volumes": [*_entries(spec, "volumes"), _volume()],
        },
    }


def awaited_by(pod: Pod) -> str:
    """What a pod is held for; nothing if it is not held."""
    said = pod.metadata.annotations.get(names.ANNOTATION_STARTUP_ORDER, "")
    return said.removeprefix(names.STARTUP_AFTER) if said.startswith(names.STARTUP_AFTER) else ""


def plan_clearance(
    cliques: Mapping[str, PodClique], groups: Sequence[GroupPods]
) -> tuple[Pod, ...]:
    """The pods of a gang that may start now and do not know it yet.

    A pod without a node is left alone: what counts is how its predecessors fare when it could
    start, not when it was made.
    """
    started = {group.name for group in groups if _has_started(group)}
    return tuple(
        pod
        for group in groups
        if (clique := cliques.get(group.name)) is not None
        and started.issuperset(clique.spec.starts_after)
        for pod in group.live
        if is_bound(pod) and awaited_by(pod)
    )


def clearance_patch(pod: Pod) -> JsonObject:
    """The merge patch that lets a pod start; refused if its name was reused meanwhile."""
    annotations: JsonObject = {names.ANNOTATION_STARTUP_ORDER: names.STARTUP_CLEARED}
    return {"metadata": {"uid": pod.metadata.uid, "annotations": annotations}}


def _has_started(group: GroupPods) -> bool:
    return sum(pod.is_ready for pod in group.live) >= group.minimum


def _entries(spec: JsonObject, field: str) -> Iterator[JsonValue]:
    found = spec.get(field)
    if isinstance(found, list):
        yield from found


def _volume() -> JsonObject:
    annotation = f"metadata.annotations['{names.ANNOTATION_STARTUP_ORDER}']"
    item: JsonObject = {"path": FILE, "fieldRef": {"fieldPath": annotation}}
    return {"name": VOLUME, "downwardAPI": {"items": [item]}}


def _init_container(spec: JsonObject, waiter: Waiter) -> JsonObject:
    container: JsonObject = {
        "name": INIT_CONTAINER,
        "image": waiter.image,
        # Also for :latest, where the default would ask the registry for each pod.
        "imagePullPolicy": "IfNotPresent",
        "command": [*waiter.command, f"{DIRECTORY}/{FILE}"],
        "securityContext": _security(waiter.user),
        "volumeMounts": [{"name": VOLUME, "mountPath": DIRECTORY, "readOnly": True}],
    }
    if _asks_for_resources(spec):
        container["resources"] = {"requests": {**_AMOUNTS}, "limits": {**_AMOUNTS}}
    return container


def _security(user: int) -> JsonObject:
    context: JsonObject = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    # A pod that runs as root would hand its user down, and the kubelet then refuses to start.
    return {**context, "runAsUser": user, "runAsGroup": user} if user else context


def _asks_for_resources(spec: JsonObject) -> bool:
    """Tell whether a container asks for anything; a pod of the lowest class stays one."""
    containers = (*_entries(spec, "containers"), *_entries(spec, "initContainers"))
    return any(
        isinstance(container, dict)
        and isinstance(resources := container.get("resources"), dict)
        and any(resources.values())
        for container in containers
    )
