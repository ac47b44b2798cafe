"""How far the update of a set is: the record that the next step is decided from.

The record is part of the set's status, so it survives a restart. It names the revision, when
the update to it began and ended, and the replica whose turn it is. Templates that change again
begin a new update, in which a replica that was already begun stays the first. With OnDelete an
update is over when it begins: who replaces pods then is the user.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core_operator.plan.replicas import ReplicaFacts
from core_operator.plan.statuses.reasons import Blocked, worst
from core_operator.plan.updates import Turn, is_automatic, next_replica
from shared_api.models import (
    JsonObject,
    PodCliqueSet,
    PodCliqueSetStatus,
    PodCliqueSetUpdateProgress,
    ReplicaUpdateProgress,
)

REASON_UPDATING = "ReplicaUpdating"
REASON_WAITING = "WaitingForReplica"


@dataclass(frozen=True, slots=True)
class Progress:
    """The record as it should be, and what a person is told."""

    set_hash: str
    record: PodCliqueSetUpdateProgress | None
    turn: Turn
    reason: str = ""
    message: str = ""

    @property
    def is_active(self) -> bool:
        """Tell whether we still have something to replace."""
        return self.record is not None and self.record.update_ended_at is None

    def manifest(self) -> JsonObject:
        """The part of the set's status that is the record."""
        found: JsonObject = {"currentGenerationHash": self.set_hash}
        if self.record is not None:
            found["updateProgress"] = self.record.manifest()
        return found


def plan_progress(
    pcs: PodCliqueSet,
    set_hash: str,
    replicas: Sequence[ReplicaFacts],
    told: Mapping[str, Blocked],
    now: datetime,
) -> Progress:
    """The next state of the record; `told` is what PodCliques say that they wait for."""
    before = pcs.status or PodCliqueSetStatus()
    record = _record(pcs, before, now)
    if _begins(pcs, before, set_hash, replicas):
        record = _begun(pcs, record, now)
    if record is None:
        return Progress(set_hash, None, Turn(None))
    turn = Turn(None)
    if record.update_ended_at is None:
        current = next((one.replica_index for one in record.currently_updating), None)
        turn = next_replica(replicas, current)
        record = _with_turn(record, turn, now)
    record = record.model_copy(update=_counts(replicas))
    if record.update_ended_at is not None:
        return Progress(set_hash, record, turn)
    reason = REASON_UPDATING if turn.replica is not None else REASON_WAITING
    return Progress(set_hash, record, turn, reason, _message(replicas, turn, told))


def _begins(
    pcs: PodCliqueSet, before: PodCliqueSetStatus, set_hash: str, replicas: Sequence[ReplicaFacts]
) -> bool:
    """Tell whether an update begins.

    It does when the templates change. Without a record of what they were, and after a change
    that was taken back before anybody looked, what exists tells.
    """
    known = before.current_generation_hash
    if known not in (None, set_hash):
        return True
    record = before.update_progress
    if not is_automatic(pcs) or (record is not None and record.update_ended_at is None):
        return False
    cliques = [clique for replica in replicas for clique in replica.cliques]
    if known is None and any(clique.outdated for clique in cliques):
        return True
    return any(clique.said not in (None, clique.wanted) for clique in cliques)


def _begun(
    pcs: PodCliqueSet, record: PodCliqueSetUpdateProgress | None, now: datetime
) -> PodCliqueSetUpdateProgress:
    moment = now.replace(microsecond=0)
    if not is_automatic(pcs):
        return PodCliqueSetUpdateProgress(update_started_at=moment, update_ended_at=moment)
    current = record.currently_updating if record is not None else ()
    return PodCliqueSetUpdateProgress(update_started_at=moment, currently_updating=current)


def _record(
    pcs: PodCliqueSet, before: PodCliqueSetStatus, now: datetime
) -> PodCliqueSetUpdateProgress | None:
    """The record that there is; it ends when the user takes over."""
    record = before.update_progress
    if record is None or record.update_ended_at is not None or is_automatic(pcs):
        return record
    ended = {"update_ended_at": now.replace(microsecond=0), "currently_updating": ()}
    return record.model_copy(update=ended)


def _with_turn(
    record: PodCliqueSetUpdateProgress, turn: Turn, now: datetime
) -> PodCliqueSetUpdateProgress:
    moment = now.replace(microsecond=0)
    if turn.replica is None:
        ended = {} if turn.waits_for is not None else {"update_ended_at": moment}
        return record.model_copy(update={"currently_updating": (), **ended})
    if any(one.replica_index == turn.replica for one in record.currently_updating):
        return record
    chosen = ReplicaUpdateProgress(replica_index=turn.replica, update_started_at=moment)
    return record.model_copy(update={"currently_updating": (chosen,)})


def _counts(replicas: Sequence[ReplicaFacts]) -> dict[str, int]:
    standalone = [clique for replica in replicas for clique in replica.standalone]
    groups = [group for replica in replicas for group in replica.groups]
    return {
        "updated_pod_cliques_count": sum(
            clique.is_current and clique.is_available for clique in standalone
        ),
        "total_pod_cliques_count": len(standalone),
        "updated_pod_clique_scaling_groups_count": sum(
            all(copy.is_current for copy in group.copies) and group.available >= group.minimum
            for group in groups
        ),
        "total_pod_clique_scaling_groups_count": len(groups),
    }


def _message(replicas: Sequence[ReplicaFacts], turn: Turn, told: Mapping[str, Blocked]) -> str:
    done = sum(replica.is_current and replica.is_available for replica in replicas)
    message = f"{done}/{len(replicas)} replicas updated"
    index = turn.replica if turn.replica is not None else turn.waits_for
    about = next((replica for replica in replicas if replica.index == index), None)
    if about is None:
        return message
    if turn.replica is None:
        message = f"{message}; waits until replica {index} is available"
    else:
        pods = [pod for clique in about.cliques for pod in clique.pods]
        outdated = sum(len(clique.outdated) for clique in about.cliques)
        wanted = sum(clique.replicas for clique in about.cliques)
        updated = len(pods) - outdated
        message = f"{message}; replica {index}: {updated}/{wanted} pods updated"
    found = worst(told[clique.name] for clique in about.cliques if clique.name in told)
    return message if found is None else f"{message}; {found.message}"
