"""The start-up order of a gang's pods: how a pod waits on its node, and when it may start.

A gang is scheduled whole, so a pod waits on its node: an init container reads an annotation of
the pod from a file. The annotation names the awaited PodCliques. Core replaces it once, when each
of them has its minimum ready; a later failure has no effect. Pods without the annotation are
never patched.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from core_operator.plan.pods.gang_pods import GroupPods
from shared_api import names
from shared_api.kube.container_causes import awaited_cliques
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, PodClique

INIT_CONTAINER = "grove-initc"
VOLUME = "grove-startup-order"
DIRECTORY = "/var/run/grove/startup-order"
FILE = "state"

# Equal requests and limits, so that a Guaranteed pod stays Guaranteed. Most pods request no more
# than before: the largest init container counts, not their sum.
_AMOUNTS: JsonObject = {**names.STARTUP_REQUESTS}


@dataclass(frozen=True, slots=True)
class StartupWait:
    """The init container's image, command and user; user 0 means that of the image."""

    image: str
    command: tuple[str, ...]
    user: int


def with_startup_order(podclique: PodClique, pod: JsonObject, wait: StartupWait) -> JsonObject:
    """Return the pod with the init container that waits; unchanged if it awaits nothing."""
    awaited = podclique.spec.starts_after
    if not awaited:
        return pod
    metadata, spec = pod["metadata"], pod["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    annotations = metadata.get("annotations")
    order = {names.ANNOTATION_STARTUP_ORDER: f"{names.STARTUP_AFTER}{', '.join(awaited)}"}
    return {
        **pod,
        "metadata": {
            **metadata,
            "annotations": {**(annotations if isinstance(annotations, dict) else {}), **order},
        },
        "spec": {
            **spec,
            # Last, so that the user's init containers run while other pods start.
            "initContainers": [*_entries(spec, "initContainers"), _init_container(spec, wait)],
            "volumes": [*_entries(spec, "volumes"), _volume()],
        },
    }


def plan_clearance(
    cliques: Mapping[str, PodClique], groups: Sequence[GroupPods]
) -> tuple[Pod, ...]:
    """Return the pods of a gang that may start now and are not cleared yet.

    An unbound pod is not cleared: its predecessors must be ready when it can start. Predecessors
    that are scaled to zero are not in the gang, and no pod waits for them.
    """
    waited_for = {group.name for group in groups if not _has_started(group)}
    return tuple(
        pod
        for group in groups
        if (clique := cliques.get(group.name)) is not None
        and waited_for.isdisjoint(clique.spec.starts_after)
        for pod in group.live
        if pod.is_bound and awaited_cliques(pod)
    )


def clearance_patch(pod: Pod) -> JsonObject:
    """Return the merge patch that lets a pod start; the server refuses it if the name was reused."""
    annotations: JsonObject = {names.ANNOTATION_STARTUP_ORDER: names.STARTUP_CLEARED}
    return {"metadata": {"uid": pod.metadata.uid, "annotations": annotations}}


def _has_started(group: GroupPods) -> bool:
    return group.ready >= group.minimum


def _entries(spec: JsonObject, field: str) -> Iterator[JsonValue]:
    found = spec.get(field)
    if isinstance(found, list):
        yield from found


def _volume() -> JsonObject:
    annotation = f"metadata.annotations['{names.ANNOTATION_STARTUP_ORDER}']"
    item: JsonObject = {"path": FILE, "fieldRef": {"fieldPath": annotation}}
    return {"name": VOLUME, "downwardAPI": {"items": [item]}}


def _init_container(spec: JsonObject, wait: StartupWait) -> JsonObject:
    container: JsonObject = {
        "name": INIT_CONTAINER,
        "image": wait.image,
        # Also for :latest, where the default pulls for each pod.
        "imagePullPolicy": "IfNotPresent",
        "command": [*wait.command, f"{DIRECTORY}/{FILE}"],
        "securityContext": _security(wait.user),
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
    # Without it a root user of the pod is inherited, which runAsNonRoot makes the kubelet refuse.
    return {**context, "runAsUser": user, "runAsGroup": user} if user else context


def _asks_for_resources(spec: JsonObject) -> bool:
    """Return whether a container requests resources; a BestEffort pod stays BestEffort."""
    containers = (*_entries(spec, "containers"), *_entries(spec, "initContainers"))
    return any(
        isinstance(container, dict)
        and isinstance(resources := container.get("resources"), dict)
        and any(resources.values())
        for container in containers
    )
