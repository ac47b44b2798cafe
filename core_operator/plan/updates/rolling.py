"""Rolling updates: which replica is next, and which of its pods may be replaced now.

One replica of a set is updated at a time: unscheduled ones first, then unavailable ones. The next
one starts when it is available again. Inside a replica all unready pods are replaced at once. Of
the ready ones, one pod of each clique and one replica of each scaling group is replaced at a time,
by index, once those before it are ready again. An unready one after it was not deleted by the
update and blocks nothing while the minimum stays. So a broken template costs one ready pod of a
clique, or one available replica of a scaling group.

A replica that is not updated yet keeps its template, also for recreated pods. The pods of one gang
never differ before its update starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core_operator.plan.pods.replicas import CliqueFacts, GroupFacts, ReplicaFacts
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, PodClique, PodCliqueSet, UpdateStrategyType


@dataclass(frozen=True, slots=True)
class Turn:
    """The replica that is updated now."""

    replica: int | None
    waits_for: int | None = None
    """The replica that must be available before the next update starts."""


def is_automatic(pcs: PodCliqueSet) -> bool:
    """Return whether core replaces outdated pods; with OnDelete the user does."""
    strategy = pcs.spec.update_strategy
    return strategy is None or strategy.type is UpdateStrategyType.ROLLING_RECREATE


def updating_replica(pcs: PodCliqueSet, set_hash: str) -> int | None:
    """Return the replica that is being updated, as recorded in the set's status.

    The record is for one revision: after another change of the templates it does not count.
    """
    status = pcs.status
    if status is None or status.update_progress is None or not is_automatic(pcs):
        return None
    if status.current_generation_hash != set_hash:
        return None
    return next((one.replica_index for one in status.update_progress.currently_updating), None)


def next_replica(replicas: Sequence[ReplicaFacts], current: int | None) -> Turn:
    """Return the replica to update after `current`, which stays until it is settled."""
    by_index = {replica.index: replica for replica in replicas}
    begun = by_index.get(current) if current is not None else None
    if begun is not None and not (begun.is_current and begun.is_settled):
        return Turn(begun.index)
    outdated = [replica for replica in replicas if not replica.is_current]
    if not outdated:
        return Turn(None)
    # A scheduled replica that is not available may show that the new template is broken.
    starting = [
        replica.index
        for replica in replicas
        if replica.is_current and replica.is_scheduled and not replica.is_available
    ]
    first = min(outdated, key=lambda one: (one.is_scheduled, one.is_available, one.index))
    if starting and first.is_available:
        return Turn(None, waits_for=starting[0])
    return Turn(first.index)


def pods_to_replace(clique: CliqueFacts) -> tuple[Pod, ...]:
    """Return the pods of a standalone clique to replace now, in the replica being updated."""
    outdated = clique.outdated
    if clique.template_hash != clique.wanted_hash or not outdated:
        return ()
    idle = tuple(pod for pod in outdated if not pod.is_ready)
    if idle:
        return idle
    first = clique.pods.index(outdated[0])
    if len(clique.pods) < clique.replicas:
        return ()
    if any(not pod.is_ready for pod in clique.pods[:first]):
        return ()
    whole = clique.ready == len(clique.pods)
    return outdated[:1] if whole or clique.ready - 1 >= clique.minimum else ()


def replicas_to_replace(group: GroupFacts) -> frozenset[int]:
    """Return the replicas of a scaling group to replace whole, in the replica being updated."""
    outdated = [one for one in group.replicas if not one.is_current]
    idle = frozenset(one.index for one in outdated if not one.is_available)
    if idle or not outdated:
        return idle
    first = group.replicas.index(outdated[0])
    if any(not one.is_available for one in group.replicas[:first]):
        return idle
    whole = group.available == len(group.replicas)
    if whole or group.available - 1 >= group.minimum:
        return frozenset({outdated[0].index})
    return idle


def with_live_template(manifest: JsonObject, live: PodClique) -> JsonObject:
    """Return the PodClique's manifest with the template that its pods have now."""
    metadata, spec = manifest["metadata"], manifest["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    labels = metadata["labels"]
    assert isinstance(labels, dict)
    own = live.metadata.labels
    users = {key: value for key, value in own.items() if not _is_ours(key)}
    ours = {key: value for key, value in labels.items() if _is_ours(key)}
    hashed = {names.LABEL_POD_TEMPLATE_HASH: own.get(names.LABEL_POD_TEMPLATE_HASH, "")}
    kept = {key: value for key, value in metadata.items() if key != "annotations"}
    if live.metadata.annotations:
        kept["annotations"] = {**live.metadata.annotations}
    return {
        **manifest,
        "metadata": {**kept, "labels": {**users, **ours, **hashed}},
        "spec": {**spec, "podSpec": live.spec.pod_spec},
    }


def _is_ours(label: str) -> bool:
    return label.startswith(names.RESERVED_PREFIX) or label in (
        names.LABEL_APP_NAME,
        names.LABEL_COMPONENT,
        names.LABEL_MANAGED_BY,
        names.LABEL_PART_OF,
    )
