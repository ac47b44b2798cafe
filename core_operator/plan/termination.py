"""Which gangs are terminated, when, and why.

A replica of a scaling group that is below its minimum for too long is recreated alone if enough
other replicas are left. A standalone clique, or a group with too few replicas left, terminates the
whole replica of the set. Every replica that is down counts, also one that was terminated before or
was never scheduled. A group's countdown starts when it had too few. Termination deletes pods;
PodCliques, their sizes and the gangs stay.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from core_operator.plan.pods.replicas import CliqueFacts, GroupFacts, ReplicaFacts
from core_operator.plan.statuses.breach import deadline_of, timestamp
from core_operator.plan.statuses.conditions import find
from shared_api import names
from shared_api.durations import duration_of
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodCliqueSet

_DEFAULT_DELAY = timedelta(hours=4)


@dataclass(frozen=True, slots=True)
class PendingTermination:
    """A replica that is terminated at the deadline unless its minimum is met before."""

    subject: str
    cliques: tuple[str, ...]
    """The PodCliques whose pods are deleted."""
    deadline: datetime
    cause: str
    groups: tuple[str, ...] = ()
    """The scaling groups that are terminated whole."""
    is_whole: bool = False
    """Whether a replica of the set is terminated, and not one of a scaling group."""

    @property
    def message(self) -> str:
        """Return the countdown for people."""
        return f"{self.subject} is terminated at {timestamp(self.deadline)}: {self.cause}"


def termination_delay(pcs: PodCliqueSet) -> timedelta:
    """Return how long a gang may be below its minimum; the default for an invalid duration."""
    return duration_of(pcs.spec.template.termination_delay) or _DEFAULT_DELAY


@dataclass(frozen=True, slots=True)
class Breach:
    """A PodClique that is below its minimum."""

    clique: str
    since: datetime
    numbers: str
    is_counting: bool = True
    """Whether it has a countdown. It has none before it was scheduled, also after a termination."""


def breaches_of(cliques: Iterable[PodClique]) -> dict[str, Breach]:
    """Return the breaches by PodClique."""
    found = (_breach_of(clique) for clique in cliques)
    return {breach.clique: breach for breach in found if breach is not None}


def _breach_of(clique: PodClique) -> Breach | None:
    conditions = clique.status.conditions if clique.status is not None else ()
    pending = find(conditions, names.CONDITION_GANG_TERMINATION_PENDING)
    breached = find(conditions, names.CONDITION_MIN_AVAILABLE_BREACHED)
    # With this condition the pods are deleted already; the countdown is about to be removed.
    done = find(conditions, names.CONDITION_GANG_TERMINATION_IN_PROGRESS)
    if breached is None:
        return None
    if pending is not None and done is None:
        return Breach(clique.metadata.name, pending.last_transition_time, breached.message)
    if breached.status != "True":
        return None
    since = breached.last_transition_time
    return Breach(clique.metadata.name, since, breached.message, is_counting=False)


def plan_terminations(
    replicas: Sequence[ReplicaFacts], breaches: Mapping[str, Breach], delay: timedelta
) -> tuple[PendingTermination, ...]:
    """Return all running countdowns, the earliest first."""
    if not breaches:
        return ()
    found = (one for replica in replicas for one in _of_replica(replica, breaches, delay))
    return tuple(sorted(found, key=lambda one: (one.deadline, one.subject)))


def due_terminations(
    replicas: Sequence[ReplicaFacts],
    breaches: Mapping[str, Breach],
    delay: timedelta,
    now: datetime,
) -> tuple[PendingTermination, ...]:
    """Return what is to be terminated now.

    A countdown continues while the minimum recovers. If it ends in that time, an available
    PodClique is not terminated: it either recovers, or the next breach terminates it.
    """
    available = {
        clique.name for replica in replicas for clique in replica.cliques if clique.is_available
    }
    broken = {name: breach for name, breach in breaches.items() if name not in available}
    pending = plan_terminations(replicas, broken, delay)
    return tuple(one for one in pending if one.deadline <= now)


def pods_to_terminate(pending: PendingTermination, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """Return the pods to delete: those created before the deadline.

    Later ones are the new start. They stay, also if a crash makes core terminate twice.
    """
    until = timestamp(pending.deadline)
    return tuple(pod for pod in pods if pod.is_live and pod.metadata.creation_timestamp < until)


def _of_replica(
    replica: ReplicaFacts, breaches: Mapping[str, Breach], delay: timedelta
) -> Iterator[PendingTermination]:
    if any(clique.template_hash is None for clique in replica.standalone):
        # A PodClique was deleted; it is being recreated with its pods.
        return
    standalone = (breaches.get(clique.name) for clique in replica.standalone)
    whole = [breach for breach in standalone if breach is not None and breach.is_counting]
    for group in replica.groups:
        down = _replicas_down(group, breaches)
        counting = {index: breach for index, breach in down.items() if breach.is_counting}
        if not counting:
            continue
        spare = len(group.replicas) - group.minimum
        if len(down) > spare:
            whole.append(_left_too_few(down.values(), counting.values(), spare))
            continue
        for one in group.replicas:
            if one.index in counting:
                subject = f"replica {one.index} of {group.name}"
                yield _pending(subject, one.cliques, counting[one.index], delay)
    if whole:
        first = min(whole, key=lambda breach: breach.since)
        pending = _pending(f"replica {replica.index}", replica.cliques, first, delay)
        groups = tuple(group.name for group in replica.groups)
        yield replace(pending, groups=groups, is_whole=True)


def _replicas_down(group: GroupFacts, breaches: Mapping[str, Breach]) -> dict[int, Breach]:
    """Return the first breach of each replica that is down, by index; one with a countdown if any."""
    found: dict[int, Breach] = {}
    for one in group.replicas:
        own = [breaches[clique.name] for clique in one.cliques if clique.name in breaches]
        if own:
            found[one.index] = min(own, key=lambda breach: (not breach.is_counting, breach.since))
    return found


def _left_too_few(down: Iterable[Breach], counting: Iterable[Breach], spare: int) -> Breach:
    """Return the breach that left too few replicas, not from before the first countdown."""
    latest = sorted(down, key=lambda breach: breach.since)[spare]
    first = min(counting, key=lambda breach: breach.since)
    return max(latest, first, key=lambda breach: breach.since)


def _pending(
    subject: str, cliques: Sequence[CliqueFacts], breach: Breach, delay: timedelta
) -> PendingTermination:
    return PendingTermination(
        subject=subject,
        cliques=tuple(clique.name for clique in cliques),
        deadline=deadline_of(breach.since, delay),
        cause=f"{breach.clique}: {breach.numbers}",
    )
