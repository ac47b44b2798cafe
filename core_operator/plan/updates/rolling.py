"""Rolling updates: which replica is next, and which of its pods may be replaced now.

One replica of a set is updated at a time: unscheduled ones first, then unavailable ones. The next
one starts when it is available again. Inside a replica all unready pods are replaced at once. Of
the ready ones, maxUnavailable pods of each clique and maxUnavailable replicas of each scaling group
are replaced at a time (default 1), by index, once those before them are ready again. An unready one
after them was not deleted by the update and blocks nothing while the minimum stays. So a broken
template costs maxUnavailable ready pods of a clique, or available replicas of a scaling group. Never
are so many replaced that fewer than minAvailable are left, except one where all are the minimum.

A replica that is not updated yet keeps its template, also for recreated pods. The pods of one gang
never differ before its update starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core_operator.plan.pods.replicas import (
    CliqueFacts,
    GroupFacts,
    ReplicaFacts,
    template_hash_of,
)
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import (
    JsonObject,
    PodClique,
    PodCliqueScalingGroupConfig,
    PodCliqueSet,
    PodCliqueTemplateSpec,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """The replica that is updated now."""

    replica: int | None
    waits_for: int | None = None
    """The replica that must be available before the next update starts."""


def updating_replica(pcs: PodCliqueSet, set_hash: str) -> int | None:
    """Return the replica that is being updated, as recorded in the set's status.

    The record is for one revision: after another change of the templates it does not count.
    """
    status = pcs.status
    if status is None or status.update_progress is None or not pcs.spec.updates_automatically:
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


def pods_to_replace(clique: CliqueFacts, limit: int = 1) -> tuple[Pod, ...]:
    """Return the pods of a standalone clique to replace now, in the replica being updated.

    `limit` is the maxUnavailable of the clique.
    """
    outdated = clique.outdated
    if clique.template_hash != clique.wanted_hash or not outdated:
        return ()
    idle = tuple(pod for pod in outdated if not pod.is_ready)
    serving = tuple(pod for pod in outdated if pod.is_ready)
    if not serving:
        return idle
    before = clique.pods[: clique.pods.index(serving[0])]
    missing = max(0, clique.replicas - len(clique.pods))
    started = sum(
        not pod.is_ready and template_hash_of(pod) == clique.wanted_hash for pod in before
    )
    whole = clique.ready == len(clique.pods) and not missing
    spare = _spare(clique.ready, clique.minimum, whole=whole)
    return (*idle, *serving[: max(0, min(limit - len(idle) - missing - started, spare))])


def replicas_to_replace(group: GroupFacts, limit: int = 1) -> frozenset[int]:
    """Return the replicas of a scaling group to replace whole, in the replica being updated.

    `limit` is the maxUnavailable of the scaling group.
    """
    outdated = [one for one in group.replicas if not one.is_current]
    idle = [one.index for one in outdated if not one.is_available]
    serving = [one.index for one in outdated if one.is_available]
    if not serving:
        return frozenset(idle)
    started = sum(
        one.is_current and not one.is_available for one in group.replicas if one.index < serving[0]
    )
    whole = group.available == len(group.replicas)
    spare = _spare(group.available, group.minimum, whole=whole)
    return frozenset((*idle, *serving[: max(0, min(limit - len(idle) - started, spare))]))


def clique_limit(template: PodCliqueTemplateSpec) -> int:
    """Return the maxUnavailable of a clique that belongs to no scaling group."""
    return template.rolling_update.limit if template.rolling_update is not None else 1


def group_limit(config: PodCliqueScalingGroupConfig) -> int:
    """Return the maxUnavailable of a scaling group."""
    return config.rolling_update.limit if config.rolling_update is not None else 1


def _spare(serving: int, minimum: int, *, whole: bool) -> int:
    """Return how many may be deleted; one even at the minimum, or no update could ever start."""
    return max(serving - minimum, 1 if whole else 0)


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
