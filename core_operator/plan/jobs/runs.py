"""What the pods of a PodClique are part of: a service without end, or an attempt of a job.

A pod carries its attempt as a label; the first attempt needs none. The attempt of a PodClique is the
number of restarts of its replica in the statuses of its set and scaling group. A restart is written
there first, and pods of earlier attempts are deleted because of it. So a crash at any point leads to
the same end, and no pod of an earlier attempt counts for a later one.

A pod that ended in the present attempt keeps its index and is neither replaced nor deleted. An
index that succeeded stays done if its pod is gone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core_operator.plan.jobs.indexes import from_text
from core_operator.plan.jobs.modes import is_job
from core_operator.plan.layout.expansion import CliqueInstance
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import (
    Condition,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueScalingGroupStatus,
    PodCliqueSet,
    PodCliqueSetStatus,
    PodCliqueStatus,
)


class JobOutcome(StrEnum):
    """How a job ended; the values are types of conditions."""

    COMPLETED = names.CONDITION_COMPLETED
    FAILED = names.CONDITION_FAILED


@dataclass(frozen=True, slots=True)
class Ending:
    """How something ended, and why."""

    outcome: JobOutcome
    reason: str
    message: str

    def about(self, subject: str) -> "Ending":
        """Return the same with the subject in front of the message."""
        return Ending(self.outcome, self.reason, f"{subject}: {self.message}")


@dataclass(frozen=True, slots=True)
class Record:
    """What the status of a set or scaling group records about its jobs."""

    restarts: tuple[int, ...] = ()
    completed: frozenset[int] = frozenset()
    ending: Ending | None = None
    attempt: int = 0
    """Of a scaling group: the attempt of its replica of the set."""
    started: datetime | None = None
    """Of a set: when its first replica was scheduled."""


@dataclass(frozen=True, slots=True)
class Run:
    """What the pods of one PodClique are part of."""

    attempt: int = 0
    ends: bool = False
    """Whether the pods run to completion."""
    ending: Ending | None = None
    """Set once the replica of its set or scaling group has ended: no pod is needed any more."""
    done: frozenset[int] = frozenset()
    """Indexes of the pods that succeeded in this attempt."""
    with_jobs: bool = False
    """Whether the set has jobs."""

    def is_obsolete(self, pod: Pod) -> bool:
        """Return whether a pod is of an earlier attempt."""
        return self.attempt > 0 and attempt_of(pod) < self.attempt

    def counts(self, pod: Pod) -> bool:
        """Return whether a pod fills its index: it is live, or it ended as a job does."""
        if self.is_obsolete(pod) or pod.metadata.is_terminating:
            return False
        return self.ends or not pod.has_ended


SERVICE = Run()
"""The pods of a set without jobs."""


def attempt_of(pod: Pod) -> int:
    """Return the attempt that a pod was created for."""
    label = pod.metadata.labels.get(names.LABEL_ATTEMPT, "")
    return int(label) if label.isascii() and label.isdecimal() and len(label) < 10 else 0


def run_of(
    pcs: PodCliqueSet,
    instance: CliqueInstance,
    group: PodCliqueScalingGroup | None,
    clique: PodClique,
) -> Run:
    """Return what the pods of a PodClique are part of, in a set with jobs."""
    status = clique.status or PodCliqueStatus()
    attempt = max(_attempt(pcs, instance, group), status.attempt or 0)
    done = status.completed_indexes if (status.attempt or 0) == attempt else None
    return Run(
        attempt=attempt,
        ends=is_job(clique),
        ending=ending_of(pcs, instance.pcs_index, group, instance.group_index),
        done=from_text(done, clique.spec.replicas),
        with_jobs=True,
    )


def ending_of(
    pcs: PodCliqueSet,
    pcs_index: int,
    group: PodCliqueScalingGroup | None = None,
    group_index: int | None = None,
) -> Ending | None:
    """Return how a replica of a set, or of one of its scaling groups, has ended."""
    status = pcs.status or PodCliqueSetStatus()
    if pcs_index in from_text(status.completed_indexes, pcs.spec.replicas):
        message = f"replica {pcs_index} of the PodCliqueSet is completed"
        return Ending(JobOutcome.COMPLETED, names.REASON_COMPLETION_CRITERIA_MET, message)
    attempt = restarts_of(status.replica_restart_counts, pcs_index)
    if group is not None and group_index in completed_of(group, attempt):
        message = f"replica {group_index} of {group.metadata.name} is completed"
        return Ending(JobOutcome.COMPLETED, names.REASON_COMPLETION_CRITERIA_MET, message)
    if (failed := true_condition(status.conditions, names.CONDITION_FAILED)) is not None:
        return Ending(JobOutcome.FAILED, failed.reason, failed.message)
    return None


def completed_of(group: PodCliqueScalingGroup, attempt: int) -> frozenset[int]:
    """Return the replicas of a scaling group that are Completed in this attempt of its set."""
    status = group.status or PodCliqueScalingGroupStatus()
    if (status.attempt or 0) != attempt:
        return frozenset()
    return from_text(status.completed_indexes, group.spec.replicas)


def restarts_of(counts: Sequence[int], index: int) -> int:
    """Return how often the replica of this index was restarted."""
    return counts[index] if index < len(counts) else 0


def outcome_of(conditions: Iterable[Condition]) -> JobOutcome | None:
    """Return how an object with these conditions has ended."""
    known = tuple(conditions)
    return next((one for one in JobOutcome if true_condition(known, one) is not None), None)


def ending_in(conditions: Iterable[Condition]) -> Ending | None:
    """Return how an object with these conditions has ended, and why."""
    known = tuple(conditions)
    outcome = outcome_of(known)
    found = None if outcome is None else true_condition(known, outcome)
    if outcome is None or found is None:
        return None
    return Ending(outcome, found.reason, found.message)


def true_condition(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """Return the condition of this type, if its status is True."""
    found = (one for one in conditions if one.type == kind and one.status == "True")
    return next(found, None)


def _attempt(
    pcs: PodCliqueSet, instance: CliqueInstance, group: PodCliqueScalingGroup | None
) -> int:
    counts = pcs.status.replica_restart_counts if pcs.status is not None else ()
    attempt = restarts_of(counts, instance.pcs_index)
    if group is None or group.status is None or instance.group_index is None:
        return attempt
    return attempt + restarts_of(group.status.replica_restart_counts, instance.group_index)
