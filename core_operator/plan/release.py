"""Which pods of a gang may lose their gate now, and if none may, why.

A gang is released whole: every pod below the minimum that exists goes at once or none does.
Before that the gang is complete (all pods exist and are referenced), its backend is done with
it, and for a scaled gang the minimum of its base gang is bound. Once a pod of a gang has been
released, what is left is finished without asking again, so neither a crash half-way nor the
replacement of a lost pod leaves a gang behind that is half held. The words of the backend's
record are obeyed; who says them is not known here. Gates of others are never touched.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from core_operator.plan.gang_pods import BaseState, GroupPods, base_state, has_gate
from core_operator.plan.pods import is_bound
from core_operator.plan.preparation import incarnation_of
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


class Waiting(StrEnum):
    """What a gang waits for, as a word of bounded number."""

    FOR_PODS = "PodsMissing"
    FOR_REFERENCES = "PodsNotReferenced"
    FOR_ACCEPTANCE = "NotAccepted"
    FOR_PROGRAM = "NotProgrammed"
    FOR_BASE = "BaseGangNotScheduled"
    FOR_WITHDRAWAL = "StillProgrammed"
    FOR_MINIMUM = "SurplusHeld"
    FOR_FRESH_MEMBERS = "MembersRecreated"
    FOR_NOTHING = ""


@dataclass(frozen=True, slots=True)
class Release:
    """What may be done now. `waiting` says to a person what the rest waits for."""

    ungate: tuple[Pod, ...]
    recreate: tuple[Pod, ...]
    """Members to delete because another was lost before all of them were placed."""
    is_placed: bool
    """A member has a node."""
    afresh: bool
    """None has, and its scheduler knows those that were lost: the next are a new gang to it."""
    wanted: int
    """Pods that the gang should have."""
    initialized: bool
    released: bool
    """The gate of every member is gone."""
    reason: Waiting
    waiting: str


def plan_release(
    gang: PodGang,
    groups: Sequence[GroupPods],
    record: SchedulerBackendSpec,
    base: BaseState | None = None,
) -> Release:
    """What may be released now; `base` is given for scaled gangs."""
    gate = record.scheduling_gate
    placed = all(group.is_placed for group in groups)
    begun = any(group.has_begun(gate) for group in groups)
    released = all(group.is_released(gate) for group in groups)
    hold = _incomplete(groups)
    initialized = hold is None or (begun and _holds(gang, names.CONDITION_INITIALIZED))
    lost = not placed and not released and _recreates(gang, record)
    alive = any(group.has(pod) and is_bound(pod) for group in groups for pod in group.live)
    afresh = not placed and not alive and (lost or _was_placed(gang, record))
    if lost or afresh:
        hold = _Hold(Waiting.FOR_FRESH_MEMBERS, "a member was lost before the gang was placed")
    elif begun and (placed or record.release.member_lost is MemberLost.REPLACE):
        hold = _unreferenced(groups)
    else:
        hold = hold or _unprogrammed(gang, record) or _base_unplaced(base)
    hold = hold or _not_withdrawn(gang, groups, record)
    held = tuple((group, pod) for group in groups for pod in group.live if has_gate(pod, gate))
    together = placed or record.release.surplus is SurplusRelease.WITH_MEMBERS
    ungate = tuple(pod for group, pod in held if hold is None and (together or group.has(pod)))
    if hold is None and len(ungate) < len(held):
        hold = _surplus_held(groups, len(held) - len(ungate))
    waits = hold is not None and (bool(held) or not begun or lost or afresh)
    return Release(
        ungate=ungate,
        recreate=_stranded(groups, gate) if lost or afresh else (),
        is_placed=alive,
        afresh=afresh,
        wanted=sum(group.wanted or 0 for group in groups),
        initialized=initialized,
        released=released,
        reason=hold.reason if hold is not None and waits else Waiting.FOR_NOTHING,
        waiting=hold.message if hold is not None and waits else "",
    )


def ungate_patch(pod: Pod, gate: str, must_have: JsonObject) -> list[JsonValue]:
    """The JSON patch that lifts one gate and nothing else.

    It fails rather than lift another's gate, should the list have changed, or touch another
    pod, should the name have been reused. It also fails if the server has not kept what the
    pod was prepared with.
    """
    position = [found.name for found in pod.spec.scheduling_gates].index(gate)
    path = f"/spec/schedulingGates/{position}"
    return [
        {"op": "test", "path": "/metadata/uid", "value": pod.metadata.uid},
        {"op": "test", "path": f"{path}/name", "value": gate},
        *_tests(must_have, "/spec"),
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
    """Bound members that still carry annotations which their scheduler must not find again."""
    if record.release.after_bound is None:
        return ()
    unwanted = record.release.after_bound.drop_annotations
    found = (
        (pod, tuple(key for key in unwanted if key in pod.metadata.annotations))
        for group in groups
        for pod in group.live
        if is_bound(pod) and group.has(pod)
    )
    return tuple((pod, keys) for pod, keys in found if keys)


@dataclass(frozen=True, slots=True)
class _Hold:
    reason: Waiting
    message: str


def _incomplete(groups: Sequence[GroupPods]) -> _Hold | None:
    absent = [group.name for group in groups if group.wanted is None]
    if absent:
        return _Hold(Waiting.FOR_PODS, f"PodClique {absent[0]} does not exist")
    wanted = sum(group.wanted or 0 for group in groups)
    exist = sum(min(len(group.live), group.wanted or 0) for group in groups)
    if exist < wanted:
        return _Hold(Waiting.FOR_PODS, f"{exist}/{wanted} pods exist")
    return _unreferenced(groups)


def _unreferenced(groups: Sequence[GroupPods]) -> _Hold | None:
    total = sum(len(group.live) for group in groups)
    referenced = sum(
        pod.metadata.name in group.referenced for group in groups for pod in group.live
    )
    if referenced == total:
        return None
    return _Hold(Waiting.FOR_REFERENCES, f"{referenced}/{total} pods are in the PodGang")


def _unprogrammed(gang: PodGang, record: SchedulerBackendSpec) -> _Hold | None:
    backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, "")
    if record.release.programs is ProgramsRelease.AFTER_RELEASE:
        if _holds(gang, names.CONDITION_ACCEPTED):
            return None
        return _Hold(Waiting.FOR_ACCEPTANCE, f"backend {backend} has not accepted the gang")
    if _holds(gang, names.CONDITION_PROGRAMMED):
        return None
    return _Hold(Waiting.FOR_PROGRAM, f"backend {backend} has not programmed the gang")


def _not_withdrawn(
    gang: PodGang, groups: Sequence[GroupPods], record: SchedulerBackendSpec
) -> _Hold | None:
    """A scheduler that must not see a gang half released must not know it while it is held.

    It knows one whose members were lost after an earlier release. As long as one of them has a
    node, the gang runs, and what is lost of it is only replaced. One member has no half.
    """
    gate = record.scheduling_gate
    members = [pod for group in groups for pod in group.live if group.has(pod)]
    if (
        record.release.programs is not ProgramsRelease.AFTER_RELEASE
        or not _holds(gang, names.CONDITION_PROGRAMMED)
        or sum(group.minimum for group in groups) < 2
        or any(map(is_bound, members))
        or not any(has_gate(pod, gate) for pod in members)
    ):
        return None
    backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, "")
    return _Hold(Waiting.FOR_WITHDRAWAL, f"backend {backend} has not withdrawn the lost gang")


def _base_unplaced(base: BaseState | None) -> _Hold | None:
    if base is None or base.is_placed:
        return None
    return _Hold(
        Waiting.FOR_BASE,
        f"waits for base gang {base.name}: {base.bound}/{base.minimum} pods scheduled",
    )


def _surplus_held(groups: Sequence[GroupPods], count: int) -> _Hold:
    state = base_state("", groups)
    return _Hold(
        Waiting.FOR_MINIMUM,
        f"{count} surplus pods wait for the minimum: {state.bound}/{state.minimum} pods scheduled",
    )


def _recreates(gang: PodGang, record: SchedulerBackendSpec) -> bool:
    # The condition tells a gang that lost a member from one whose release was interrupted.
    return record.release.member_lost is MemberLost.RECREATE_GANG and _holds(
        gang, names.CONDITION_RELEASED
    )


def _was_placed(gang: PodGang, record: SchedulerBackendSpec) -> bool:
    """Tell whether a member of this incarnation had a node.

    Not by a condition, which tells what is now: members are lost one after the other.
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
        if group.has(pod) and not has_gate(pod, gate) and not is_bound(pod)
    )


def _holds(gang: PodGang, condition: str) -> bool:
    conditions = gang.status.conditions if gang.status is not None else ()
    return any(found.type == condition and found.status == "True" for found in conditions)
