"""Whether the jobs of a set have ended, are restarted, or go on.

PodCliques report how their pods ended. From that a replica of a scaling group is Completed, is
restarted alone within its budget, or fails its group. A replica of the set is Completed, is
restarted whole within its budget, or fails the set. The first replica that fails for good fails the
set, because all must complete. An outcome is final: it is recorded in the statuses, and later
changes of pods do not count.

A report counts only if it is about the present attempt. Counts of restarts never decrease, even if
another client removes them from a status: PodCliques record the attempt too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from core_operator.plan.jobs import modes
from core_operator.plan.jobs.indexes import from_text
from core_operator.plan.jobs.runs import (
    Ending,
    JobOutcome,
    Record,
    completed_of,
    ending_in,
    outcome_of,
    restarts_of,
    true_condition,
)
from core_operator.plan.layout.expansion import CliqueInstance, Expansion, GroupInstance
from core_operator.plan.statuses.scaling_group import has_enough, is_scheduled
from shared_api import names
from shared_api.durations import after, duration_of
from shared_api.models import (
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueScalingGroupStatus,
    PodCliqueSet,
    PodCliqueSetStatus,
)


@dataclass(frozen=True, slots=True)
class Restart:
    """A replica that is restarted now."""

    message: str


@dataclass(frozen=True, slots=True)
class JobDecision:
    """The next records of a set and its scaling groups, and when to look again."""

    record: Record
    groups: Mapping[str, Record] = field(default_factory=dict)
    """By the full name of the scaling group. Records of others stay as they are."""
    restarts: tuple[Restart, ...] = ()
    deadline: datetime | None = None
    """When the jobs have taken too long."""


def plan_jobs(
    pcs: PodCliqueSet,
    expansion: Expansion,
    cliques: Mapping[str, PodClique],
    groups: Mapping[str, PodCliqueScalingGroup],
    now: datetime,
) -> JobDecision:
    """Return the next records; `cliques` and `groups` are those that exist, by full name."""
    status = pcs.status or PodCliqueSetStatus()
    if outcome_of(status.conditions) is not None or expansion.too_large:
        return JobDecision(recorded(pcs))
    evaluation = _Evaluation(pcs, cliques, groups)
    for index, found in groupby(expansion.cliques, attrgetter("pcs_index")):
        evaluation.add(index, tuple(found))
    started = status.job_start_time or (now if evaluation.is_started else None)
    ending, deadline = evaluation.ending, None
    if ending is None and started is not None:
        ending, deadline = _deadline(pcs, started, now)
    record = Record(
        restarts=_trimmed(evaluation.restarts),
        completed=frozenset(evaluation.completed),
        ending=ending,
        started=started,
    )
    return JobDecision(record, evaluation.records, tuple(evaluation.restarted), deadline)


def recorded(pcs: PodCliqueSet) -> Record:
    """Return what the status of a set records now."""
    status = pcs.status or PodCliqueSetStatus()
    return Record(
        status.replica_restart_counts,
        from_text(status.completed_indexes, pcs.spec.replicas),
        ending_in(status.conditions),
        started=status.job_start_time,
    )


def removal_time(pcs: PodCliqueSet, ends_now: datetime) -> datetime | None:
    """Return when a set is deleted that has ended, or that `ends_now`; None if it stays."""
    seconds = modes.policy_of(pcs).ttl_seconds
    ttl = duration_of(f"{seconds}s") if seconds is not None else None
    if ttl is None:
        return None
    conditions = pcs.status.conditions if pcs.status is not None else ()
    found = [one for kind in JobOutcome if (one := true_condition(conditions, kind)) is not None]
    return after(found[0].last_transition_time if found else ends_now, ttl)


def _deadline(
    pcs: PodCliqueSet, started: datetime, now: datetime
) -> tuple[Ending | None, datetime | None]:
    text = modes.policy_of(pcs).max_runtime
    limit = duration_of(text) if text is not None else None
    if limit is None:
        return None, None
    deadline = after(started, limit)
    if now < deadline:
        return None, deadline
    message = (
        f"not completed {text} after the start at {started:%Y-%m-%dT%H:%M:%SZ}, which is maxRuntime."
        " Raise policy.completion.failure.maxRuntime, and create the set again"
    )
    return Ending(JobOutcome.FAILED, names.REASON_MAX_RUNTIME_EXCEEDED, message), None


class _Evaluation:
    """The replicas of a set, evaluated one after the other."""

    def __init__(
        self,
        pcs: PodCliqueSet,
        cliques: Mapping[str, PodClique],
        groups: Mapping[str, PodCliqueScalingGroup],
    ) -> None:
        status = pcs.status or PodCliqueSetStatus()
        self._pcs = pcs
        self._cliques = cliques
        self._groups = groups
        self._budget = modes.policy_of(pcs).max_restarts
        self._jobs = modes.jobs_of_replica(pcs)
        self._required = modes.required_of_replica(pcs)
        self.restarts = _padded(status.replica_restart_counts, pcs.spec.replicas)
        self.completed = set(from_text(status.completed_indexes, pcs.spec.replicas))
        self.records: dict[str, Record] = {}
        self.restarted: list[Restart] = []
        self.is_started = False
        self._failure = ""

    @property
    def ending(self) -> Ending | None:
        """How the set has ended."""
        if self._failure:
            reason = names.REASON_RESTART_BUDGET_EXHAUSTED
            return Ending(JobOutcome.FAILED, reason, self._failure)
        size = self._pcs.spec.replicas
        if size and len(self.completed) >= size:
            message = f"{size}/{size} replicas completed"
            reason = names.REASON_COMPLETION_CRITERIA_MET
            return Ending(JobOutcome.COMPLETED, reason, message)
        return None

    def add(self, index: int, instances: Sequence[CliqueInstance]) -> None:
        """Evaluate one replica of the set."""
        self.is_started = self.is_started or has_enough(instances, self._cliques, is_scheduled)
        if index in self.completed:
            return
        alone = [one for one in instances if one.group is None]
        attempt = max(self.restarts[index], *self._attempts(alone), 0)
        self.restarts[index] = attempt
        outcomes = {
            one.template.name: self._outcome(one, attempt)
            for one in alone
            if one.template.name in self._jobs
        }
        records: dict[str, Record] = {}
        restarted: list[Restart] = []
        for group, members in _by_group(instances):
            if group.config.name in self._jobs:
                record = self._group(group, members, attempt, restarted)
                records[group.name] = record
                outcomes[group.config.name] = record.ending
        failed = [one for one in outcomes.values() if one and one.outcome is JobOutcome.FAILED]
        if self._required and self._is_completed(self._required, outcomes):
            self.completed.add(index)
        elif failed and attempt < self._budget:
            # The records of the groups are about the attempt that ends here.
            self.restarts[index] = attempt + 1
            self.restarted.append(
                _restart(f"replica {index}", attempt + 1, self._budget, failed[0].message)
            )
            return
        elif failed:
            self._failure = self._failure or _exhausted(
                f"replica {index}", attempt, self._budget, failed[0].message
            )
        self.records |= records
        self.restarted += restarted

    def _group(
        self,
        group: GroupInstance,
        members: Sequence[CliqueInstance],
        attempt: int,
        restarted: list[Restart],
    ) -> Record:
        """Evaluate the replicas of a scaling group of one replica of the set."""
        live = self._groups.get(group.name)
        before = PodCliqueScalingGroupStatus()
        if live is not None and live.status is not None:
            before = live.status
        completed = set(completed_of(live, attempt) if live is not None else ())
        restarts = _padded(before.replica_restart_counts, group.replicas)
        budget, ending = modes.group_restarts(group), None
        if (before.attempt or 0) == attempt:
            failed = true_condition(before.conditions, names.CONDITION_FAILED)
            if failed is not None:
                ending = Ending(JobOutcome.FAILED, failed.reason, failed.message)
        jobs = modes.jobs_of_group(self._pcs, group.config)
        required = modes.required_of_group(self._pcs, group)
        for index, found in groupby(members, attrgetter("group_index")):
            instances = tuple(found)
            if index in completed or ending is not None:
                continue
            own = max(restarts[index], *(one - attempt for one in self._attempts(instances)), 0)
            restarts[index] = own
            outcomes = {
                one.template.name: self._outcome(one, attempt + own)
                for one in instances
                if one.template.name in jobs
            }
            failures = [one for one in outcomes.values() if one]
            failures = [one for one in failures if one.outcome is JobOutcome.FAILED]
            subject = f"replica {index} of {group.name}"
            if self._is_completed(required, outcomes):
                completed.add(index)
            elif failures and own < budget:
                restarts[index] = own + 1
                restarted.append(_restart(subject, own + 1, budget, failures[0].message))
            elif failures:
                message = _exhausted(subject, own, budget, failures[0].message)
                reason = names.REASON_RESTART_BUDGET_EXHAUSTED
                ending = Ending(JobOutcome.FAILED, reason, message)
        if ending is None and group.replicas and len(completed) >= group.replicas:
            message = f"{group.replicas}/{group.replicas} replicas completed"
            reason = names.REASON_COMPLETION_CRITERIA_MET
            ending = Ending(JobOutcome.COMPLETED, reason, message)
        return Record(_trimmed(restarts), frozenset(completed), ending, attempt)

    def _outcome(self, instance: CliqueInstance, attempt: int) -> Ending | None:
        clique = self._cliques.get(instance.name)
        status = clique.status if clique is not None else None
        if status is None or (status.attempt or 0) != attempt:
            return None
        found = ending_in(status.conditions)
        return None if found is None else found.about(instance.name)

    def _attempts(self, instances: Iterable[CliqueInstance]) -> Iterator[int]:
        for instance in instances:
            clique = self._cliques.get(instance.name)
            if clique is not None and clique.status is not None:
                yield clique.status.attempt or 0

    @staticmethod
    def _is_completed(required: frozenset[str], outcomes: Mapping[str, Ending | None]) -> bool:
        found = (outcomes.get(name) for name in required)
        return all(one is not None and one.outcome is JobOutcome.COMPLETED for one in found)


def _by_group(
    instances: Iterable[CliqueInstance],
) -> Iterator[tuple[GroupInstance, tuple[CliqueInstance, ...]]]:
    found: dict[str, tuple[GroupInstance, list[CliqueInstance]]] = {}
    for one in instances:
        if one.group is not None:
            found.setdefault(one.group.name, (one.group, []))[1].append(one)
    for group, members in found.values():
        yield group, tuple(sorted(members, key=attrgetter("group_index")))


def _restart(subject: str, count: int, budget: int, cause: str) -> Restart:
    return Restart(f"{subject} is restarted, {count} of {budget} times: {cause}")


def _exhausted(subject: str, count: int, budget: int, cause: str) -> str:
    times = "restart" if count == 1 else "restarts"
    return f"{subject} failed after {count} {times}, maxRestarts is {budget}: {cause}"


def _padded(counts: Sequence[int], size: int) -> list[int]:
    return [restarts_of(counts, index) for index in range(size)]


def _trimmed(counts: Sequence[int]) -> tuple[int, ...]:
    last = max((index for index, count in enumerate(counts) if count), default=-1)
    return tuple(counts[: last + 1])
