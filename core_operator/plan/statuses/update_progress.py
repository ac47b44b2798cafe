"""The progress of the update of one PodClique or scaling group, in Grove's fields.

The update of a PodClique starts when it gets another template and ends when all its pods have it.
That of a scaling group starts when its replica of the set is updated and ends when all its replicas
have the current templates. With OnDelete both end when they start. Nothing is decided from these
fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core_operator.plan.pods.replicas import GroupFacts
from core_operator.plan.updates.rolling import replicas_to_replace
from shared_api import names
from shared_api.models import (
    JsonObject,
    PodClique,
    PodCliqueScalingGroupStatus,
    PodCliqueScalingGroupUpdateProgress,
    PodCliqueStatus,
    PodCliqueUpdateProgress,
    PodsSelectedToUpdate,
    ReplicasSelectedToUpdate,
)


@dataclass(frozen=True, slots=True)
class TargetRevision:
    """The templates to which a set is updated."""

    set_hash: str
    template_hash: str | None
    """That of the clique."""
    is_automatic: bool = True
    selected: tuple[str, ...] = ()
    """Names of the clique's ready pods that its update replaced, in their order."""


@dataclass(frozen=True, slots=True)
class GroupUpdate:
    """The update of a scaling group."""

    facts: GroupFacts
    set_hash: str
    is_automatic: bool
    is_turn: bool
    """The replica of the set to which the group belongs is being updated."""
    max_unavailable: int = 1
    """How many of its replicas are replaced at a time."""


def clique_progress(
    podclique: PodClique,
    before: PodCliqueStatus,
    revision: TargetRevision | None,
    now: datetime,
    *,
    complete: bool,
    outdated: bool,
) -> JsonObject:
    """Return the fields of a PodClique; `complete` if all its pods exist with its template."""
    if revision is None:
        return {}
    found: JsonObject = {}
    label = podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH, "")
    if complete and label == revision.template_hash:
        found["currentPodCliqueSetGenerationHash"] = revision.set_hash
    elif before.current_pod_clique_set_generation_hash is not None:
        found["currentPodCliqueSetGenerationHash"] = before.current_pod_clique_set_generation_hash
    record = before.update_progress
    moment = now.replace(microsecond=0)
    is_new = outdated or before.current_pod_template_hash not in (None, label)
    if is_new and (record is None or record.pod_template_hash != label):
        record = PodCliqueUpdateProgress(
            update_started_at=moment,
            pod_clique_set_generation_hash=revision.set_hash,
            pod_template_hash=label,
        )
    if record is None:
        return found
    ended = record.update_ended_at
    if ended is None and (complete or not revision.is_automatic):
        ended = moment
    # A new object: a field that model_copy removes is sent as null, which the server refuses.
    progress = PodCliqueUpdateProgress(
        update_started_at=record.update_started_at,
        pod_clique_set_generation_hash=record.pod_clique_set_generation_hash,
        pod_template_hash=record.pod_template_hash,
        **({} if ended is None else {"update_ended_at": ended}),
        **(_selected_pods(record, revision.selected) if ended is None else {}),
    )
    return {**found, "updateProgress": progress.manifest()}


def _selected_pods(
    record: PodCliqueUpdateProgress, selected: Sequence[str]
) -> dict[str, PodsSelectedToUpdate]:
    """Return the pod that is being replaced, and those before it; the status survives a restart."""
    before = record.ready_pods_selected_to_update
    known = () if before is None else (*before.completed, before.current)
    named = (*known, *(name for name in selected if name not in known))
    if not named:
        return {}
    chosen = PodsSelectedToUpdate(current=named[-1], completed=named[:-1])
    return {"ready_pods_selected_to_update": chosen}


def group_progress(
    before: PodCliqueScalingGroupStatus, update: GroupUpdate | None, now: datetime
) -> JsonObject:
    """Return the fields of a scaling group."""
    if update is None:
        return {}
    found: JsonObject = {}
    complete = all(one.is_current for one in update.facts.replicas)
    if complete and update.facts.available >= update.facts.minimum:
        found["currentPodCliqueSetGenerationHash"] = update.set_hash
    elif before.current_pod_clique_set_generation_hash is not None:
        found["currentPodCliqueSetGenerationHash"] = before.current_pod_clique_set_generation_hash
    record = _record(before, update, now, complete=complete)
    return found if record is None else {**found, "updateProgress": record.manifest()}


def _record(
    before: PodCliqueScalingGroupStatus, update: GroupUpdate, now: datetime, *, complete: bool
) -> PodCliqueScalingGroupUpdateProgress | None:
    record = before.update_progress
    moment = now.replace(microsecond=0)
    is_known = record is not None and record.pod_clique_set_generation_hash == update.set_hash
    if not is_known and not complete and (update.is_turn or not update.is_automatic):
        record = PodCliqueScalingGroupUpdateProgress(
            update_started_at=moment, pod_clique_set_generation_hash=update.set_hash
        )
    if record is None:
        return None
    ended = record.update_ended_at
    if ended is None and (complete or not update.is_automatic):
        ended = moment
    cliques = [clique for one in update.facts.replicas for clique in one.cliques]
    # A new object, for the same reason as above.
    return PodCliqueScalingGroupUpdateProgress(
        update_started_at=record.update_started_at,
        pod_clique_set_generation_hash=record.pod_clique_set_generation_hash,
        updated_pod_cliques_count=sum(clique.is_current for clique in cliques),
        total_pod_cliques_count=len(cliques),
        **({} if ended is None else {"update_ended_at": ended}),
        **_selected(update),
    )


def _selected(update: GroupUpdate) -> dict[str, ReplicasSelectedToUpdate]:
    limit = update.max_unavailable
    chosen = replicas_to_replace(update.facts, limit) if update.is_turn else frozenset()
    if not chosen:
        return {}
    done = tuple(one.index for one in update.facts.replicas if one.is_current)
    selected = ReplicasSelectedToUpdate(current=min(chosen), completed=done)
    return {"ready_replica_indices_selected_to_update": selected}
