"""Rolling updates: which replica is next, and what of it may be replaced now.

One replica of a set is updated at a time, the worst first, and until it serves again no other
is begun. Inside it, what does not serve is replaced at once, since that costs nothing. Of what
serves, one pod of each clique and one copy of each scaling group goes at a time, in the order
of indexes and only when those before it serve again. One further on that does not serve was
never taken by us, and is no hindrance as long as the minimum stays. A broken template
therefore costs one pod of a clique, or one copy, that served.

What is not updated yet keeps its template, also for pods that are made anew: the pods of a
gang that nobody has begun to update never differ from each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core_operator.plan.replicas import CliqueFacts, GroupFacts, ReplicaFacts
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, PodClique, PodCliqueSet, UpdateStrategyType


@dataclass(frozen=True, slots=True)
class Turn:
    """Whose turn it is."""

    replica: int | None
    """Index of the replica that is being updated."""
    waits_for: int | None = None
    """Index of a replica that has to serve before the next one is begun."""


def is_automatic(pcs: PodCliqueSet) -> bool:
    """Tell whether we replace pods of an old template, and not their user."""
    strategy = pcs.spec.update_strategy
    return strategy is None or strategy.type is UpdateStrategyType.ROLLING_RECREATE


def updating_replica(pcs: PodCliqueSet, set_hash: str) -> int | None:
    """The replica that is being updated, as the set's status records it.

    The record is for one revision: after a change of the templates nothing goes on before the
    update to the new ones has been begun.
    """
    status = pcs.status
    if status is None or status.update_progress is None or not is_automatic(pcs):
        return None
    if status.current_generation_hash != set_hash:
        return None
    return next((one.replica_index for one in status.update_progress.currently_updating), None)


def next_replica(replicas: Sequence[ReplicaFacts], current: int | None) -> Turn:
    """Whose turn it is after `current`, which stays until it serves again."""
    by_index = {replica.index: replica for replica in replicas}
    begun = by_index.get(current) if current is not None else None
    if begun is not None and not (begun.is_current and begun.is_settled):
        return Turn(begun.index)
    outdated = [replica for replica in replicas if not replica.is_current]
    if not outdated:
        return Turn(None)
    # Somebody who is scheduled and does not serve may show what the new template does.
    starting = [
        replica.index
        for replica in replicas
        if replica.is_current and replica.is_scheduled and not replica.is_available
    ]
    worst = min(outdated, key=_how_bad)
    if starting and worst.is_available:
        return Turn(None, waits_for=starting[0])
    return Turn(worst.index)


def pods_to_replace(clique: CliqueFacts) -> tuple[Pod, ...]:
    """Pods of a clique that stands alone, in the replica whose turn it is."""
    outdated = clique.outdated
    if clique.said != clique.wanted or not outdated:
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


def copies_to_replace(group: GroupFacts) -> frozenset[int]:
    """Copies of a scaling group, in the replica whose turn it is; each is replaced whole."""
    outdated = [copy for copy in group.copies if not copy.is_current]
    idle = frozenset(copy.index for copy in outdated if not copy.is_available)
    if idle or not outdated:
        return idle
    first = group.copies.index(outdated[0])
    if any(not copy.is_available for copy in group.copies[:first]):
        return idle
    whole = group.available == len(group.copies)
    if whole or group.available - 1 >= group.minimum:
        return frozenset({outdated[0].index})
    return idle


def held_back(manifest: JsonObject, live: PodClique) -> JsonObject:
    """The PodClique's manifest with the template that its pods have now."""
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


def _how_bad(replica: ReplicaFacts) -> tuple[bool, bool, int]:
    return replica.is_scheduled, replica.is_available, replica.index
