"""The progress of a set's update: the record from which the next step is decided.

The record is part of the set's status, so it survives a restart. It has the revision, when the
update started and ended, and the replica that is being updated. Another change of the templates
starts a new update, which continues with that replica. With OnDelete an update ends when it
starts, because the user replaces the pods.

With progressDeadlineSeconds the record also has the number of updated pods that are ready, and when
it last grew. A deadline that is exceeded is only reported: the update waits for those pods anyway.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core_operator.plan.jobs.modes import has_jobs
from core_operator.plan.pods.replicas import ReplicaFacts, template_hash_of
from core_operator.plan.statuses.reasons import Blocker, most_urgent
from core_operator.plan.updates.rolling import (
    Turn,
    clique_limit,
    group_limit,
    next_replica,
)
from shared_api.models import (
    JsonObject,
    PodCliqueSet,
    PodCliqueSetStatus,
    PodCliqueSetUpdateProgress,
    ReplicaUpdateProgress,
)

REASON_UPDATING = "ReplicaUpdating"
REASON_WAITING = "WaitingForReplica"
REASON_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"


@dataclass(frozen=True, slots=True)
class UpdateProgressPlan:
    """The next record, and the reason and message of the condition Updating."""

    set_hash: str
    record: PodCliqueSetUpdateProgress | None
    turn: Turn
    reason: str = ""
    message: str = ""
    deadline: datetime | None = None
    """When the update is reported to make no progress, unless another pod is ready before."""

    @property
    def is_active(self) -> bool:
        """Return whether the update has not ended."""
        return self.record is not None and self.record.update_ended_at is None

    def manifest(self) -> JsonObject:
        """Return the fields of the set's status."""
        found: JsonObject = {"currentGenerationHash": self.set_hash}
        if self.record is not None:
            found["updateProgress"] = self.record.manifest()
        return found


def plan_progress(
    pcs: PodCliqueSet,
    set_hash: str,
    replicas: Sequence[ReplicaFacts],
    blockers: Mapping[str, Blocker],
    now: datetime,
) -> UpdateProgressPlan:
    """Return the next record; `blockers` is what PodCliques wait for, by name."""
    before = pcs.status or PodCliqueSetStatus()
    if has_jobs(pcs):
        # A job is never updated, so the hash stays that of the templates that it started with.
        return UpdateProgressPlan(before.current_generation_hash or set_hash, None, Turn(None))
    record = _record(pcs, before, now)
    if _starts(pcs, before, set_hash, replicas):
        record = _started(pcs, record, now)
    if record is None:
        return UpdateProgressPlan(set_hash, None, Turn(None))
    turn = Turn(None)
    if record.update_ended_at is None:
        current = next((one.replica_index for one in record.currently_updating), None)
        turn = next_replica(replicas, current)
        record = _with_turn(record, turn, now)
    record = record.model_copy(update=_counts(replicas))
    if record.update_ended_at is not None:
        return UpdateProgressPlan(set_hash, _without_progress(record), turn)
    reason = REASON_UPDATING if turn.replica is not None else REASON_WAITING
    message = _message(pcs, replicas, turn, blockers)
    seconds = _deadline_seconds(pcs)
    if seconds is None:
        return UpdateProgressPlan(set_hash, _without_progress(record), turn, reason, message)
    record, since = _with_progress(record, replicas, now)
    deadline = since + timedelta(seconds=seconds)
    if now >= deadline:
        reason = REASON_DEADLINE_EXCEEDED
        message = (
            f"no updated pod became ready since {since:%Y-%m-%dT%H:%M:%SZ}, progressDeadlineSeconds"
            f" is {seconds}: {message}. Correct the template, or apply the former one to roll back"
        )
    return UpdateProgressPlan(set_hash, record, turn, reason, message, deadline)


def _starts(
    pcs: PodCliqueSet, before: PodCliqueSetStatus, set_hash: str, replicas: Sequence[ReplicaFacts]
) -> bool:
    """Return whether an update starts: the templates changed since the last record.

    Without a record, and after a change that was reverted unseen, the existing objects decide.
    """
    known = before.current_generation_hash
    if known not in (None, set_hash):
        return True
    record = before.update_progress
    if not pcs.spec.updates_automatically or (
        record is not None and record.update_ended_at is None
    ):
        return False
    cliques = [clique for replica in replicas for clique in replica.cliques]
    if known is None and any(clique.outdated for clique in cliques):
        return True
    return any(one.template_hash not in (None, one.wanted_hash) for one in cliques)


def _started(
    pcs: PodCliqueSet, record: PodCliqueSetUpdateProgress | None, now: datetime
) -> PodCliqueSetUpdateProgress:
    moment = now.replace(microsecond=0)
    if not pcs.spec.updates_automatically:
        return PodCliqueSetUpdateProgress(update_started_at=moment, update_ended_at=moment)
    current = record.currently_updating if record is not None else ()
    return PodCliqueSetUpdateProgress(update_started_at=moment, currently_updating=current)


def _record(
    pcs: PodCliqueSet, before: PodCliqueSetStatus, now: datetime
) -> PodCliqueSetUpdateProgress | None:
    """Return the current record, ended if the strategy became OnDelete."""
    record = before.update_progress
    if record is None or record.update_ended_at is not None or pcs.spec.updates_automatically:
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
            all(one.is_current for one in group.replicas) and group.available >= group.minimum
            for group in groups
        ),
        "total_pod_clique_scaling_groups_count": len(groups),
    }


def _deadline_seconds(pcs: PodCliqueSet) -> int | None:
    strategy = pcs.spec.update_strategy
    limits = strategy.rolling_update if strategy is not None else None
    return limits.progress_deadline_seconds if limits is not None else None


def _with_progress(
    record: PodCliqueSetUpdateProgress, replicas: Sequence[ReplicaFacts], now: datetime
) -> tuple[PodCliqueSetUpdateProgress, datetime]:
    """Return the record with the number of updated pods, and when it last grew."""
    updated = sum(
        pod.is_ready and template_hash_of(pod) == clique.wanted_hash
        for replica in replicas
        for clique in replica.cliques
        for pod in clique.pods
    )
    moment = now.replace(microsecond=0)
    before, since = record.updated_pods_count, record.last_progress_at
    if before is None or since is None or updated > before:
        since = moment
    begun = (
        record.update_started_at,
        *(one.update_started_at for one in record.currently_updating),
    )
    since = max((since, *(one for one in begun if one is not None)))
    fields = {"updated_pods_count": updated, "last_progress_at": since}
    return record.model_copy(update=fields), since


def _without_progress(record: PodCliqueSetUpdateProgress) -> PodCliqueSetUpdateProgress:
    """Return the record without what only a deadline needs."""
    # A field that is set to None would be sent as null, which the server refuses.
    needless = {"updated_pods_count", "last_progress_at"}
    return PodCliqueSetUpdateProgress(
        **{name: getattr(record, name) for name in record.model_fields_set - needless}
    )


def _limits(pcs: PodCliqueSet) -> str:
    """Return how many pods and replicas may be unavailable, where the user wrote it."""
    template = pcs.spec.template
    found = [
        *((one.name, clique_limit(one)) for one in template.cliques if one.rolling_update),
        *(
            (one.name, group_limit(one))
            for one in template.pod_clique_scaling_groups
            if one.rolling_update
        ),
    ]
    listed = ", ".join(f"{limit} of {name}" for name, limit in found)
    return f"; at most {listed} unavailable" if found else ""


def _message(
    pcs: PodCliqueSet,
    replicas: Sequence[ReplicaFacts],
    turn: Turn,
    blockers: Mapping[str, Blocker],
) -> str:
    done = sum(replica.is_current and replica.is_available for replica in replicas)
    message = f"{done}/{len(replicas)} replicas updated"
    index = turn.replica if turn.replica is not None else turn.waits_for
    about = next((replica for replica in replicas if replica.index == index), None)
    if about is None:
        return message
    if turn.replica is None:
        message = f"{message}; replica {index} must be available before the next one is updated"
    else:
        pods = [pod for clique in about.cliques for pod in clique.pods]
        outdated = sum(len(clique.outdated) for clique in about.cliques)
        wanted = sum(clique.replicas for clique in about.cliques)
        updated = len(pods) - outdated
        message = f"{message}; replica {index}: {updated}/{wanted} pods updated{_limits(pcs)}"
    found = most_urgent(blockers[one.name] for one in about.cliques if one.name in blockers)
    return message if found is None else f"{message}; {found.message}"
