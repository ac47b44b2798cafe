"""The stages of a gang on its way to running, read from its conditions and its pods.

It owns the order of the stages and which of them blocks. A gang of this product has a condition for
each stage. Grove's own operator sets only Initialized: there gates, nodes and readiness of the pods
decide, and the stages of a backend do not exist. A stage never claims more than these facts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from gangctl.snapshot import ListedPod, condition
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.container_causes import listed, unready_causes

STAGES = {
    "selected": names.CONDITION_BACKEND_SELECTED,
    "accepted": names.CONDITION_ACCEPTED,
    "pods": names.CONDITION_INITIALIZED,
    "programmed": names.CONDITION_PROGRAMMED,
    "released": names.CONDITION_RELEASED,
    "scheduled": names.CONDITION_SCHEDULED,
    "ready": names.CONDITION_READY,
}
_OF_A_BACKEND = frozenset({"selected", "accepted", "programmed"})
_MANUAL = frozenset(
    {
        names.REASON_BACKEND_UNKNOWN,
        names.REASON_NO_CANDIDATE,
        names.REASON_POLICY_NOT_FOUND,
        names.REASON_SCHEDULERS_DISAGREE,
        names.REASON_UNREADABLE,
        names.REASON_UNSUPPORTED,
        names.REASON_CONFLICT,
        names.REASON_SCHEDULER_API_MISSING,
        names.REASON_REJECTED,
        names.REASON_QUEUE_DOES_NOT_EXIST,
        names.REASON_PODS_OF_EARLIER_GANG,
        "TooLarge",
    }
)


class Stage(msgspec.Struct, frozen=True):
    """One step of a gang on its way to running."""

    name: str
    status: str
    """True, False, or Unknown if the condition is not set."""
    count: str = ""
    reason: str = ""
    message: str = ""

    @property
    def requires_action(self) -> bool:
        """Return whether the stage fails for a reason that does not pass by itself."""
        return self.status == "False" and self.reason in _MANUAL


def is_groves(gang: LooseObject) -> bool:
    """Return whether Grove's own operator manages the gang: then no backend is named."""
    return names.LABEL_SCHEDULER_BACKEND not in gang.metadata.labels and not condition(
        gang, names.CONDITION_BACKEND_SELECTED
    )


def stages_of(gang: LooseObject, pods: Sequence[ListedPod]) -> tuple[Stage, ...]:
    """Return the stages of a gang in order, with counts of pods where a stage has them."""
    wanted = max(sum(_minimums(gang).values()), len(pods))
    bound = sum(bool(pod.spec.node_name) for pod in pods)
    counts = {
        "pods": f"{len(pods)}/{wanted}",
        "scheduled": f"{bound}/{wanted}",
        "ready": f"{sum(pod.is_ready for pod in pods)}/{wanted}",
    }
    is_grove = is_groves(gang)
    found = []
    for stage, kind in STAGES.items():
        if is_grove and stage in _OF_A_BACKEND:
            continue
        entry = condition(gang, kind)
        status = entry.get("status") or _unreported(stage, gang, pods, is_grove=is_grove)
        message = entry.get("message", "")
        if not message and stage == "scheduled" and status == "False":
            message = _schedulers_message(pods)
        if not message and stage == "ready" and status == "False":
            message = _kubelets_message(pods)
        found.append(Stage(stage, status, counts.get(stage, ""), entry.get("reason", ""), message))
    return tuple(found)


ENDED = ("Succeeded", "Failed")
"""Phases of a gang whose jobs have ended: no stage blocks it."""


def blocking_stage(stages: Sequence[Stage]) -> Stage | None:
    """Return the stage that blocks: one that requires manual action, else the first that is not True."""
    refused = next((stage for stage in stages if stage.requires_action), None)
    return refused or next((stage for stage in stages if stage.status != "True"), None)


def phase_of(gang: LooseObject, stages: Sequence[Stage]) -> str:
    """Return the phase; Grove's own operator never moves it beyond Pending, so there stages decide."""
    if not is_groves(gang):
        return str(gang.status.get("phase", "Pending"))
    passed = {stage.name for stage in stages if stage.status == "True"}
    if "ready" in passed:
        return "Running"
    return "Starting" if "scheduled" in passed else "Pending"


def _minimums(gang: LooseObject) -> dict[str, int]:
    groups = gang.spec.get("podgroups") or ()
    return {group["name"]: int(group.get("minReplicas", 0)) for group in groups}


def _unreported(stage: str, gang: LooseObject, pods: Sequence[ListedPod], *, is_grove: bool) -> str:
    """Return the status of a stage without a condition.

    Core sets Released only if the release had to wait: then ungated pods are the evidence.
    """
    if stage == "released":
        is_ungated = bool(pods) and not any(pod.spec.scheduling_gates for pod in pods)
        return "True" if is_ungated else "Unknown"
    if not is_grove:
        return "Unknown"
    counted: Mapping[str, int] = _counted(stage, pods)
    minimums = _minimums(gang)
    return str(bool(minimums) and all(counted[name] >= n for name, n in minimums.items()))


def _counted(stage: str, pods: Sequence[ListedPod]) -> Mapping[str, int]:
    """Return how many pods of each clique have passed a stage."""
    found: dict[str, int] = defaultdict(int)
    for pod in pods:
        has_passed = {"scheduled": bool(pod.spec.node_name), "ready": pod.is_ready}
        found[pod.metadata.labels.get(names.LABEL_PODCLIQUE, "")] += has_passed.get(stage, True)
    return found


def _kubelets_message(pods: Sequence[ListedPod]) -> str:
    """Return why bound pods are not ready: container, image and one pod."""
    unready = [pod for pod in pods if pod.spec.node_name and not pod.is_ready]
    return listed(unready_causes(unready)).removeprefix("; ")


def _schedulers_message(pods: Sequence[ListedPod]) -> str:
    """Return what the scheduler reports about the first pod that is not bound."""
    for pod in pods:
        for entry in pod.status.conditions:
            if (entry.type, entry.status) == ("PodScheduled", "False") and entry.message:
                return entry.message
    return ""
