"""Values for tests without a cluster."""

from typing import Any

import msgspec

from backend_controllers.generic.context import BackendContext
from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod, PodCondition, PodSpec, PodStatus
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.pending_writes import PendingWrites

NAMESPACE = "n"


def gang(*groups: tuple[str, int, int], status: dict[str, Any] | None = None) -> ObservedPodGang:
    """A gang `w-0` of groups with a name, a minimum and a number of pods."""
    manifest: dict[str, Any] = {
        "metadata": {"name": "w-0", "namespace": NAMESPACE, "uid": "gang", "generation": 2},
        "spec": {
            "podgroups": [
                {
                    "name": f"w-0-{name}",
                    "minReplicas": minimum,
                    "podReferences": [
                        {"namespace": NAMESPACE, "name": f"{name}-{index}"} for index in range(pods)
                    ],
                }
                for name, minimum, pods in groups
            ]
        },
    }
    if status is not None:
        manifest["status"] = status
    return msgspec.convert(manifest, ObservedPodGang)


def pod(
    name: str, *, node: str = "node", ready: bool = False, index: int | None = None, **changes: Any
) -> Pod:
    """A pod of that gang; its index is what its name ends with."""
    number = name.rsplit("-", 1)[1] if index is None else str(index)
    labels = {names.LABEL_PODGANG: "w-0", names.LABEL_POD_INDEX: number}
    conditions = (PodCondition("Ready", "True" if ready else "False"),)
    made = Pod(
        Metadata(name=name, namespace=NAMESPACE, uid=name, labels=labels),
        PodSpec(node_name=node),
        PodStatus(phase="Running", conditions=conditions),
    )
    return msgspec.structs.replace(made, **changes) if changes else made


def going(value: Pod) -> Pod:
    metadata = msgspec.structs.replace(value.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(value, metadata=metadata)


def applier_of(context: BackendContext) -> Applier:
    """What a controller of this process writes with."""
    return Applier(context.client, context.field_manager, PendingWrites(), context.telemetry)
