"""Which pods of a gang may be ungated now, and if none may, why.

A gang is released whole: all existing pods below the minimum are ungated at once, or none is.
Before that, all pods exist and are referenced, the backend has programmed the gang, and the minimum
of a scaled gang's base gang is bound. Once a pod is ungated, the other members are ungated without
these checks. So neither a crash nor a replaced pod leaves a gang released in part. The release
rules come from the backend's record; this module knows no backend. It never removes a foreign gate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from core_operator.plan.pods.gang_pods import BaseState, GroupPods, base_state, has_gate
from core_operator.plan.pods.preparation import incarnation_of
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import (
    JsonObject,
    MemberLost,
    PodGang,
    ProgramsRelease,
    SchedulerBackendSpec,
    SurplusRelease,
)


class WaitingFor(StrEnum):
    """What a gated gang waits for, as a reason of bounded number."""

    PODS = "PodsMissing"
    REFERENCES = "PodsNotReferenced"
    ACCEPTANCE = "NotAccepted"
    PROGRAM = "NotProgrammed"
    BASE_GANG = "BaseGangNotScheduled"
    WITHDRAWAL = "StillProgrammed"
    MINIMUM = "SurplusHeld"
    RECREATED_MEMBERS = "MembersRecreated"
    BIND_TIMEOUT = "BindTimeout"
    NOTHING = ""


@dataclass(frozen=True, slots=True)
class Release:
    """What to do now, and what the rest waits for."""

    ungate: tuple[Pod, ...]
    recreate: tuple[Pod, ...]
    """Members to delete because another one was lost before all of them were bound."""
    has_bound_member: bool
    starts_new_incarnation: bool
    """No member is bound and the scheduler knows the lost ones: to it, the next are a new gang."""
    wanted: int
    """Pods that the gang should have."""
    initialized: bool
    released: bool
    """No member is gated."""
    reason: WaitingFor
    message: str


def plan_release(
    gang: PodGang,
    groups: Sequence[GroupPods],
    record: SchedulerBackendSpec,
    base: BaseState | None = None,
) -> Release:
    """Return which pods may be ungated now; `base` is given for scaled gangs."""
    gate = record.scheduling_gate
    scheduled = all(group.is_scheduled for group in groups)
    begun = any(group.has_ungated(gate) for group in groups)
    released = all(group.is_released(gate) for group in groups)
    wait = _incomplete(groups)
    initialized = wait is None or (begun and _is_true(gang, names.CONDITION_INITIALIZED))
    lost = not scheduled and not released and _recreates(gang, record)
    alive = any(group.is_member(pod) and pod.is_bound for group in groups for pod in group.live)
    is_new = not scheduled and not alive and (lost or _was_scheduled(gang, record))
    if lost or is_new:
        message = "a member was lost before the gang was scheduled; its other members are recreated"
        wait = _Wait(WaitingFor.RECREATED_MEMBERS, message)
    elif begun and (scheduled or record.release.member_lost is MemberLost.REPLACE):
        wait = _unreferenced(groups)
    else:
        wait = wait or _unprogrammed(gang, record) or _base_unscheduled(base)
    wait = wait or _not_withdrawn(gang, groups, record)
    gated = tuple((group, pod) for group in groups for pod in group.live if has_gate(pod, gate))
    together = scheduled or record.release.surplus is SurplusRelease.WITH_MEMBERS
    ungate = tuple(
        pod for group, pod in gated if wait is None and (together or group.is_member(pod))
    )
    if wait is None and len(ungate) < len(gated):
        wait = _surplus_gated(groups, len(gated) - len(ungate))
    if not (gated or not begun or lost or is_new):
        wait = None
    return Release(
        ungate=ungate,
        recreate=_stranded(groups, gate) if lost or is_new else (),
        has_bound_member=alive,
        starts_new_incarnation=is_new,
        wanted=sum(group.wanted or 0 for group in groups),
        initialized=initialized,
        released=released,
        reason=wait.reason if wait is not None else WaitingFor.NOTHING,
        message=wait.message if wait is not None else "",
    )


def ungate_patch(pod: Pod, gate: str, required: JsonObject) -> list[JsonValue]:
    """Return the JSON patch that removes one gate and nothing else.

    Its tests fail if the list of gates changed, if the pod's name was reused, or if the server
    dropped a field of the preparation.
    """
    position = [found.name for found in pod.spec.scheduling_gates].index(gate)
    path = f"/spec/schedulingGates/{position}"
    return [
        {"op": "test", "path": "/metadata/uid", "value": pod.metadata.uid},
        {"op": "test", "path": f"{path}/name", "value": gate},
        *_tests(required, "/spec"),
        {"op": "remove", "path": path},
    ]


def _tests(fields: JsonObject, path: str) -> Iterator[JsonValue]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _tests(value, f"{path}/{name}")
        else:
            yield {"op": "test", "path": f"{path}/{name}", "value": value}


def annotations_to_drop(
    groups: Sequence[GroupPods], record: SchedulerBackendSpec
) -> tuple[tuple[Pod, tuple[str, ...]], ...]:
    """Return bound members with those of their annotations that the record wants removed."""
    if record.release.after_bound is None:
        return ()
    unwanted = record.release.after_bound.drop_annotations
    found = (
        (pod, tuple(key for key in unwanted if key in pod.metadata.annotations))
        for group in groups
        for pod in group.live
        if pod.is_bound and group.is_member(pod)
    )
    return tuple((pod, keys) for pod, keys in found if keys)


@dataclass(frozen=True, slots=True)
class _Wait:
    reason: WaitingFor
    message: str


def _incomplete(groups: Sequence[GroupPods]) -> _Wait | None:
    absent = [group.name for group in groups if group.wanted is None]
    if absent:
        return _Wait(WaitingFor.PODS, f"PodClique {absent[0]} does not exist")
    wanted = sum(group.wanted or 0 for group in groups)
    exist = sum(min(len(group.live), group.wanted or 0) for group in groups)
    if exist < wanted:
        return _Wait(WaitingFor.PODS, f"{exist}/{wanted} pods exist")
    return _unreferenced(groups)


def _unreferenced(groups: Sequence[GroupPods]) -> _Wait | None:
    total = sum(len(group.live) for group in groups)
    referenced = sum(
        pod.metadata.name in group.referenced for group in groups for pod in group.live
    )
    if referenced == total:
        return None
    return _Wait(WaitingFor.REFERENCES, f"{referenced}/{total} pods are referenced by the PodGang")


def _unprogrammed(gang: PodGang, record: SchedulerBackendSpec) -> _Wait | None:
    backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, "")
    if record.release.programs is ProgramsRelease.AFTER_RELEASE:
        if _is_true(gang, names.CONDITION_ACCEPTED):
            return None
        return _Wait(WaitingFor.ACCEPTANCE, f"backend {backend} has not accepted the gang")
    if _is_true(gang, names.CONDITION_PROGRAMMED):
        return None
    return _Wait(WaitingFor.PROGRAM, f"backend {backend} has not programmed the gang")


def _not_withdrawn(
    gang: PodGang, groups: Sequence[GroupPods], record: SchedulerBackendSpec
) -> _Wait | None:
    """Wait until a backend that programs after release has withdrawn a gang that was lost.

    Otherwise its scheduler would bind some members while the others are still gated. A gang with a
    bound member runs and is only completed; a gang of one member cannot be bound in part.
    """
    gate = record.scheduling_gate
    members = [pod for group in groups for pod in group.live if group.is_member(pod)]
    if (
        record.release.programs is not ProgramsRelease.AFTER_RELEASE
        or not _is_true(gang, names.CONDITION_PROGRAMMED)
        or sum(group.minimum for group in groups) < 2
        or any(pod.is_bound for pod in members)
        or not any(has_gate(pod, gate) for pod in members)
    ):
        return None
    backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, "")
    return _Wait(WaitingFor.WITHDRAWAL, f"backend {backend} has not withdrawn the lost gang")


def _base_unscheduled(base: BaseState | None) -> _Wait | None:
    if base is None or base.is_scheduled:
        return None
    return _Wait(
        WaitingFor.BASE_GANG,
        f"base gang {base.name} is not scheduled: {base.bound}/{base.minimum} pods scheduled",
    )


def _surplus_gated(groups: Sequence[GroupPods], count: int) -> _Wait:
    state = base_state("", groups)
    return _Wait(
        WaitingFor.MINIMUM,
        f"{count} surplus pods are gated until the minimum is scheduled:"
        f" {state.bound}/{state.minimum} pods scheduled",
    )


def _recreates(gang: PodGang, record: SchedulerBackendSpec) -> bool:
    # Released=True distinguishes a gang that lost a member from an interrupted release.
    return record.release.member_lost is MemberLost.RECREATE_GANG and _is_true(
        gang, names.CONDITION_RELEASED
    )


def _was_scheduled(gang: PodGang, record: SchedulerBackendSpec) -> bool:
    """Return whether a member of this incarnation was ever bound.

    A condition shows only the present, and members are lost one after the other.
    """
    return (
        record.release.member_lost is MemberLost.RECREATE_GANG
        and gang.status is not None
        and gang.status.placed_incarnation == incarnation_of(gang)
    )


def _stranded(groups: Sequence[GroupPods], gate: str) -> tuple[Pod, ...]:
    return tuple(
        pod
        for group in groups
        for pod in group.live
        if group.is_member(pod) and not has_gate(pod, gate) and not pod.is_bound
    )


def _is_true(gang: PodGang, condition: str) -> bool:
    conditions = gang.status.conditions if gang.status is not None else ()
    return any(found.type == condition and found.status == "True" for found in conditions)
