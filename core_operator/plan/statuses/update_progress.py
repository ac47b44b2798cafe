"""How far the update of one PodClique or scaling group is, in Grove's fields.

A PodClique's update begins when it is given another template and ends when all its pods have
it. A scaling group's begins when it is its replica's turn and ends when all copies have the
current templates. With OnDelete either ends when it begins. These fields tell; nothing is
decided from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core_operator.plan.replicas import GroupFacts
from core_operator.plan.updates import copies_to_replace
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
class Revision:
    """The templates that a set is on its way to."""

    set_hash: str
    template_hash: str | None
    """Of the clique in question."""
    is_automatic: bool = True
    selected: tuple[str, ...] = ()
    """Names of the clique's pods that served and were taken by its update, in their order."""


@dataclass(frozen=True, slots=True)
class GroupUpdate:
    """The update of a scaling group."""

    facts: GroupFacts
    set_hash: str
    is_automatic: bool
    is_turn: bool
    """It is the turn of the replica that the group belongs to."""


def clique_progress(
    podclique: PodClique,
    before: PodCliqueStatus,
    revision: Revision | None,
    now: datetime,
    *,
    complete: bool,
    outdated: bool,
) -> JsonObject:
    """The fields of a PodClique; `complete` if all its pods exist and have its template."""
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
    # Made anew: a field that is taken out of a copy is sent as null, which the server refuses.
    told = PodCliqueUpdateProgress(
        update_started_at=record.update_started_at,
        pod_clique_set_generation_hash=record.pod_clique_set_generation_hash,
        pod_template_hash=record.pod_template_hash,
        **({} if ended is None else {"update_ended_at": ended}),
        **(_selected_pods(record, revision.selected) if ended is None else {}),
    )
    return {**found, "updateProgress": told.manifest()}


def _selected_pods(
    record: PodCliqueUpdateProgress, selected: Sequence[str]
) -> dict[str, PodsSelectedToUpdate]:
    """The pod that is being replaced, and those before it; a restart forgets only what it told."""
    before = record.ready_pods_selected_to_update
    told = () if before is None else (*before.completed, before.current)
    named = (*told, *(name for name in selected if name not in told))
    if not named:
        return {}
    chosen = PodsSelectedToUpdate(current=named[-1], completed=named[:-1])
    return {"ready_pods_selected_to_update": chosen}


def group_progress(
    before: PodCliqueScalingGroupStatus, update: GroupUpdate | None, now: datetime
) -> JsonObject:
    """The fields of a scaling group."""
    if update is None:
        return {}
    found: JsonObject = {}
    copies = update.facts.copies
    complete = all(copy.is_current for copy in copies)
    if complete and update.facts.available >= update.facts.minimum:
        found["currentPodCliqueSetGenerationHash"] = update.set_hash
    elif before.current_pod_clique_set_generation_hash is not None:
        found["currentPodCliqueSetGenerationHash"] = before.current_pod_clique_set_generation_hash
    record = _record(before, update, now, complete=complete)
    return found if record is None else {**found, "updateProgress": record.manifest()}


def is_turn_of(update: GroupUpdate | None) -> bool:
    """Tell whether the group is being updated now."""
    return update is not None and update.is_turn


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
    cliques = [clique for copy in update.facts.copies for clique in copy.cliques]
    # Made anew: a field that is taken out of a copy is sent as null, which the server refuses.
    return PodCliqueScalingGroupUpdateProgress(
        update_started_at=record.update_started_at,
        pod_clique_set_generation_hash=record.pod_clique_set_generation_hash,
        updated_pod_cliques_count=sum(clique.is_current for clique in cliques),
        total_pod_cliques_count=len(cliques),
        **({} if ended is None else {"update_ended_at": ended}),
        **_selected(update),
    )


def _selected(update: GroupUpdate) -> dict[str, ReplicasSelectedToUpdate]:
    chosen = copies_to_replace(update.facts) if update.is_turn else frozenset()
    if not chosen:
        return {}
    done = tuple(copy.index for copy in update.facts.copies if copy.is_current)
    selected = ReplicasSelectedToUpdate(current=min(chosen), completed=done)
    return {"ready_replica_indices_selected_to_update": selected}
