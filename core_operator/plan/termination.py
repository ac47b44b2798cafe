"""Which gangs are to be terminated, when, and why.

A copy of a scaling group that has been below its minimum for too long is made anew alone, as
long as enough other copies are left. A clique that stands alone, or a group that has too few
copies left, takes its whole replica with it. The clock of a group starts when it came to have
too few. Terminating means deleting pods; PodCliques, their sizes and the gangs stay.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core_operator.plan.pods import is_live
from core_operator.plan.replicas import CliqueFacts, GroupFacts, ReplicaFacts
from core_operator.plan.statuses.breach import deadline_of, spoken
from core_operator.plan.statuses.conditions import find
from shared_api import names
from shared_api.durations import duration_of
from shared_api.kube.pods import Pod
from shared_api.models import PodClique, PodCliqueSet

_DEFAULT_DELAY = timedelta(hours=4)


@dataclass(frozen=True, slots=True)
class Doom:
    """Something that is terminated at a moment unless its minimum is met again before."""

    subject: str
    cliques: tuple[str, ...]
    """The PodCliques whose pods go."""
    deadline: datetime
    because: str

    @property
    def message(self) -> str:
        """The countdown for people."""
        return f"{self.subject} is terminated at {spoken(self.deadline)}: {self.because}"


def termination_delay(pcs: PodCliqueSet) -> timedelta:
    """Return how long a gang may be below its minimum; the default if the field is no duration."""
    return duration_of(pcs.spec.template.termination_delay) or _DEFAULT_DELAY


@dataclass(frozen=True, slots=True)
class Breach:
    """A PodClique that counts down."""

    clique: str
    since: datetime
    numbers: str


def breaches_of(cliques: Iterable[PodClique]) -> dict[str, Breach]:
    """The countdowns that run, by PodClique."""
    found = (_breach_of(clique) for clique in cliques)
    return {breach.clique: breach for breach in found if breach is not None}


def _breach_of(clique: PodClique) -> Breach | None:
    """The countdown of a PodClique, if one runs."""
    conditions = clique.status.conditions if clique.status is not None else ()
    pending = find(conditions, names.CONDITION_GANG_TERMINATION_PENDING)
    breached = find(conditions, names.CONDITION_MIN_AVAILABLE_BREACHED)
    # Marked means that the pods were deleted; the countdown is only still to be taken down.
    done = find(conditions, names.CONDITION_GANG_TERMINATION_IN_PROGRESS)
    if pending is None or breached is None or done is not None:
        return None
    return Breach(clique.metadata.name, pending.last_transition_time, breached.message)


def plan_terminations(
    replicas: Sequence[ReplicaFacts], breaches: Mapping[str, Breach], delay: timedelta
) -> tuple[Doom, ...]:
    """Everything that counts down, the earliest first."""
    if not breaches:
        return ()
    found = [doom for replica in replicas for doom in _of_replica(replica, breaches, delay)]
    return tuple(sorted(found, key=lambda doom: (doom.deadline, doom.subject)))


def overdue(
    replicas: Sequence[ReplicaFacts],
    breaches: Mapping[str, Breach],
    delay: timedelta,
    now: datetime,
) -> tuple[Doom, ...]:
    """What is to be terminated now.

    A countdown goes on while the minimum has to prove that it holds. If it ends in that time,
    what serves now is not touched: either the proof is given, or the next breach is the last.
    """
    serving = {
        clique.name for replica in replicas for clique in replica.cliques if clique.is_available
    }
    broken = {name: breach for name, breach in breaches.items() if name not in serving}
    dooms = plan_terminations(replicas, broken, delay)
    return tuple(doom for doom in dooms if doom.deadline <= now)


def pods_to_terminate(doom: Doom, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """The pods that go: those from before the deadline.

    What was made later is the new start. It stays, also if the work is done twice because the
    process died in the middle of it.
    """
    until = spoken(doom.deadline)
    return tuple(pod for pod in pods if is_live(pod) and pod.metadata.creation_timestamp < until)


def _of_replica(
    replica: ReplicaFacts, breaches: Mapping[str, Breach], delay: timedelta
) -> Iterator[Doom]:
    if any(clique.said is None for clique in replica.standalone):
        # Somebody has removed a PodClique; it is being made again, with the pods that it needs.
        return
    whole = [breaches[clique.name] for clique in replica.standalone if clique.name in breaches]
    for group in replica.groups:
        broken = _broken_copies(group, breaches)
        spare = len(group.copies) - group.minimum
        if len(broken) > spare:
            # The breach that left too few copies.
            whole.append(sorted(broken.values(), key=lambda breach: breach.since)[spare])
        else:
            for copy in group.copies:
                if copy.index in broken:
                    subject = f"copy {copy.index} of {group.name}"
                    yield _doom(subject, copy.cliques, broken[copy.index], delay)
    if whole:
        first = min(whole, key=lambda breach: breach.since)
        yield _doom(f"replica {replica.index}", replica.cliques, first, delay)


def _broken_copies(group: GroupFacts, breaches: Mapping[str, Breach]) -> dict[int, Breach]:
    """The copies that count down, by index, each with its first breach."""
    found: dict[int, Breach] = {}
    for copy in group.copies:
        own = [breaches[clique.name] for clique in copy.cliques if clique.name in breaches]
        if own:
            found[copy.index] = min(own, key=lambda breach: breach.since)
    return found


def _doom(subject: str, cliques: Sequence[CliqueFacts], breach: Breach, delay: timedelta) -> Doom:
    return Doom(
        subject=subject,
        cliques=tuple(clique.name for clique in cliques),
        deadline=deadline_of(breach.since, delay),
        because=f"{breach.clique}: {breach.numbers}",
    )
