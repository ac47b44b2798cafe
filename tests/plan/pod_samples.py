"""Pods, PodCliques and gangs for the tests of plans, in the states that matter to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from core_operator.plan.layout import naming
from shared_api import names
from shared_api.kube.metadata import Metadata, ObservedOwnerReference
from shared_api.kube.pods import (
    ContainerState,
    ContainerStatus,
    ContainerWaiting,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    SchedulingGate,
    Terminated,
)
from shared_api.models import PodClique, PodGang
from tests.plan.samples import NAMESPACE, pod_spec

BACKEND = "example"
GATE = "example.com/gate"
CLIQUE = "w-0-a"
NOW = datetime(2026, 3, 1, 12, 0, 0, 987654, tzinfo=UTC)
LATER = datetime(2026, 3, 1, 12, 5, 0, tzinfo=UTC)


GANG_UID = "uid-of-gang-w-0"


def uid_of(podclique: str) -> str:
    return f"uid-of-{podclique}"


@dataclass(frozen=True, slots=True)
class PodState:
    """How a pod is; the defaults are those of one that was just created."""

    gates: tuple[str, ...] = (GATE,)
    node: str = ""
    ready: bool = False
    phase: str = "Pending"
    terminating: bool = False
    backend: str = BACKEND
    said: str = ""
    """What the scheduler says about a pod that it cannot place."""
    waiting: str = ""
    """Why its container does not run."""
    crashed: bool = False
    started: bool = False
    annotations: tuple[tuple[str, str], ...] = ()


GATED = PodState()
RELEASED = PodState(gates=())
BOUND = PodState(gates=(), node="n1")
READY = PodState(gates=(), node="n1", ready=True, phase="Running")
FAILED = PodState(gates=(), node="n1", phase="Failed")
SUCCEEDED = PodState(gates=(), node="n1", phase="Succeeded")


def going(state: PodState) -> PodState:
    return replace(state, terminating=True)


def pod(
    index: int | str | None,
    state: PodState = GATED,
    *,
    clique: str = CLIQUE,
    name: str | None = None,
    owner: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Pod:
    """A pod of a PodClique; `owner` is another UID than the PodClique's."""
    shown = name or f"{clique}-{index}"
    own = {names.LABEL_PODCLIQUE: clique, names.LABEL_SCHEDULER_BACKEND: state.backend}
    if index is not None:
        own[names.LABEL_POD_INDEX] = str(index)
    return Pod(
        metadata=Metadata(
            name=shown,
            namespace=NAMESPACE,
            uid=f"uid-{shown}",
            labels={**own, **(labels or {})},
            annotations=dict(state.annotations),
            owner_references=(
                ObservedOwnerReference(
                    api_version=PodClique.API_VERSION,
                    kind="PodClique",
                    name=clique,
                    uid=owner or uid_of(clique),
                    controller=True,
                ),
            ),
            deletion_timestamp="2026-03-01T11:59:00Z" if state.terminating else None,
        ),
        spec=PodSpec(
            node_name=state.node,
            scheduling_gates=tuple(SchedulingGate(gate) for gate in state.gates),
        ),
        status=PodStatus(
            phase=state.phase,
            conditions=_pod_conditions(state),
            container_statuses=(_container(state),) if state.node else (),
        ),
    )


def _pod_conditions(state: PodState) -> tuple[PodCondition, ...]:
    if state.gates:
        reason, message = "SchedulingGated", "Scheduling is blocked due to non-empty gates"
        return (PodCondition("PodScheduled", "False", reason, message),)
    if not state.node:
        if not state.said:
            return ()
        return (PodCondition("PodScheduled", "False", "Unschedulable", state.said),)
    return (
        PodCondition("PodScheduled", "True"),
        PodCondition("Ready", "True" if state.ready else "False"),
    )


def _container(state: PodState) -> ContainerStatus:
    ended = Terminated(exit_code=1, reason="Error")
    return ContainerStatus(
        name="main",
        image="img:1",
        ready=state.ready,
        started=state.ready or state.started,
        state=ContainerState(waiting=ContainerWaiting(state.waiting) if state.waiting else None),
        last_state=ContainerState(terminated=ended if state.crashed else None),
    )


def podclique(
    replicas: int = 3,
    minimum: int | None = None,
    *,
    name: str = CLIQUE,
    gang: str = "w-0",
    labels: Mapping[str, str] | None = None,
    pod: dict[str, object] | None = None,
    status: Mapping[str, object] | None = None,
    **metadata: object,
) -> PodClique:
    """A PodClique as the API server sends it."""
    spec: dict[str, object] = {"roleName": name, "podSpec": pod or pod_spec(), "replicas": replicas}
    if minimum is not None:
        spec["minAvailable"] = minimum
    value: dict[str, object] = {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": uid_of(name),
            "generation": 4,
            "labels": {
                **naming.podclique_labels("w", 0, name, gang, "hash"),
                **(labels or {}),
            },
            **metadata,
        },
        "spec": spec,
    }
    if status is not None:
        value["status"] = dict(status)
    return PodClique.model_validate(value)


def condition(kind: str, status: str = "True", reason: str = "", message: str = "") -> object:
    return {
        "type": kind,
        "status": status,
        "reason": reason or kind,
        "message": message,
        "lastTransitionTime": "2026-02-01T00:00:00Z",
    }


def gang(
    *groups: tuple[str, int, Sequence[str]],
    conditions: Sequence[object] = (),
    name: str = "w-0",
    backend: str = BACKEND,
) -> PodGang:
    """A PodGang of groups, each of a name, a minimum and the names of its pods."""
    return PodGang.model_validate(
        {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-of-gang-{name}",
                "generation": 2,
                "labels": {names.LABEL_SCHEDULER_BACKEND: backend},
            },
            "spec": {
                "podgroups": [
                    {
                        "name": group,
                        "minReplicas": minimum,
                        "podReferences": [{"namespace": NAMESPACE, "name": n} for n in pods],
                    }
                    for group, minimum, pods in groups
                ]
            },
            "status": {"conditions": list(conditions)},
        }
    )
