"""Which pods of a PodClique to create and which to delete.

A pod is identified by its index, read from its label and never from its name. An index belongs to
at most one live pod, and the replacement of a pod keeps it. Only pods that the PodClique controls
are deleted. Scaling in deletes pods at or above the minimum, because the scheduler knows those below
as the gang. Outdated pods below it go first where the backend treats all pods of a group equally.
Neither the bound nor the ready pods become fewer than the minimum: a surplus pod that is needed for
that stays until others are ready, even above `replicas`.

A new pod's name follows from the PodClique, the index and the pods that had the index before.
After a crash the same name is requested again and AlreadyExists is the answer. The replacement of
a pod that terminates, or that was deleted by force, has another name.
"""

import hashlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice

from pydantic import JsonValue

from core_operator.plan.pods.preparation import Preparation
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique

# No vowels and no look-alikes, as in the names that the API server generates.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_NOTHING_GONE: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to create."""

    index: int
    name: str
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class PodPlan:
    """What to do about the pods of a PodClique."""

    create: tuple[NewPod, ...]
    delete: tuple[Pod, ...]
    keep: tuple[Pod, ...]


def is_made_for(pod: Pod, podclique: str) -> bool:
    """Return whether a pod was created for the PodClique of this name.

    Only the pod's name is safe: everything else on it can be edited.
    """
    return pod.metadata.name.rpartition("-")[0] == podclique


def owned_pods(podclique: PodClique, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """Return the pods that the PodClique controls; labels alone do not count."""
    uid = podclique.metadata.uid
    return tuple(
        pod
        for pod in pods
        if (owner := pod.metadata.controller) is not None and owner.uid == uid and uid
    )


def is_settled(podclique: PodClique, pods: Sequence[Pod]) -> bool:
    """Return whether each index below `replicas` has a bound pod; then preparation does not matter."""
    size = podclique.spec.replicas
    return len(pods) == size and all(
        pod.is_bound and pod.index is not None and pod.index < size for pod in pods
    )


def drifted_labels(podclique: PodClique, pod: Pod) -> dict[str, str]:
    """Return the labels that identify a pod's owners and that were removed or changed.

    Only these: all other labels belong to the template that the pod was created from.
    """
    ours, live = podclique.metadata.labels, pod.metadata.labels
    drifted = {
        key: ours[key]
        for key in (names.LABEL_PODGANG, names.LABEL_PART_OF)
        if key in ours and live.get(key) != ours[key]
    }
    if live.get(names.LABEL_PODCLIQUE) != podclique.metadata.name:
        drifted[names.LABEL_PODCLIQUE] = podclique.metadata.name
    return drifted


def still_exists_patch(uid: str) -> list[JsonValue]:
    """Return a JSON patch that changes nothing and fails if the object is gone or terminating."""
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": "/metadata/deletionTimestamp", "value": None},
    ]


def plan_pods(
    podclique: PodClique,
    pods: Sequence[Pod],
    min_available: int,
    preparation: Preparation,
    taken: Container[str] = (),
    gone: Mapping[int, str] = _NOTHING_GONE,
) -> PodPlan:
    """Return which pods of a PodClique to create, to delete and to keep.

    `preparation` is what new pods are created with; unbound pods that do not match it are
    recreated. `taken` are names of existing pods, including foreign ones. `gone` has the UID of the
    last pod of an index that is gone. Pods of earlier attempts of a job are deleted apart from this
    plan.
    """
    run = preparation.run
    owned = tuple(pod for pod in owned_pods(podclique, pods) if not run.is_obsolete(pod))
    live = tuple(pod for pod in owned if run.counts(pod))
    if podclique.metadata.deletion_timestamp is not None:
        return PodPlan(create=(), delete=(), keep=live)
    ended = tuple(pod for pod in owned if pod.has_ended and not pod.metadata.is_terminating)
    if run.ends:
        ended = ()
    by_index = _one_per_index(pod for pod in live if not preparation.requires_recreation(pod))
    members = min(min_available, podclique.spec.replicas)
    # Where all pods are equal to the backend, any of them makes up the minimum.
    first = 0 if preparation.is_uniform else members
    # An index that is done needs no pod, also if that of an earlier time was deleted.
    done = run.done.difference(by_index)
    lacking = sum(index not in by_index and index not in done for index in range(first))
    excess = len(by_index) + len(done) + lacking - podclique.spec.replicas
    expendable: frozenset[int] = frozenset()
    if excess > 0:
        template_hash = podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)
        expendable = _expendable(by_index, excess, members, first, template_hash)
    keep = {index: pod for index, pod in by_index.items() if index not in expendable}
    kept = {pod.metadata.uid for pod in keep.values()}
    # A missing member counts as missing even if surplus pods make up the number.
    missing = max(podclique.spec.replicas - len(keep) - len(done), lacking, 0)
    free = (index for index in count() if index not in keep and index not in done)
    indexes = tuple(islice(free, missing))
    return PodPlan(
        create=tuple(_new_pods(podclique, pods, indexes, taken, gone, run.attempt)),
        delete=(*ended, *(pod for pod in live if pod.metadata.uid not in kept)),
        keep=tuple(keep.values()),
    )


def _one_per_index(pods: Iterator[Pod]) -> dict[int, Pod]:
    """Return the pod of each index, in the order of indexes.

    Two pods share an index only if labels were edited. Other pods address a pod by its index, so
    the ready one keeps it, then the bound, then the ungated, then the older.
    """
    chosen: dict[int, Pod] = {}
    for pod in sorted(pods, key=_seniority):
        index = pod.index
        if index is not None:
            chosen.setdefault(index, pod)
    return dict(sorted(chosen.items()))


def _seniority(pod: Pod) -> tuple[bool, bool, bool, str, str]:
    return (
        not pod.is_ready,
        not pod.is_bound,
        pod.is_gated,
        pod.metadata.creation_timestamp,
        pod.metadata.uid,
    )


def _expendable(
    pods: dict[int, Pod], excess: int, minimum: int, first: int, template_hash: str | None
) -> frozenset[int]:
    """Return the indexes to delete: those above the minimum, and of outdated pods from `first`.

    Unbound pods first, then unready ones, then those of another template, then the highest
    index. A pod stays if it is one of the last `minimum` that are bound or ready.
    """

    def is_current(index: int) -> bool:
        return pods[index].metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH) == template_hash

    order = sorted(
        (i for i in pods if i >= minimum or (i >= first and not is_current(i))),
        key=lambda i: (pods[i].is_bound, pods[i].is_ready, is_current(i), -i),
    )
    spare_bound = max(0, sum(pod.is_bound for pod in pods.values()) - minimum)
    spare_ready = max(0, sum(pod.is_ready for pod in pods.values()) - minimum)
    chosen: list[int] = []
    for index in order:
        bound, ready = pods[index].is_bound, pods[index].is_ready
        if (bound and not spare_bound) or (ready and not spare_ready):
            continue
        spare_bound -= bound
        spare_ready -= ready
        chosen.append(index)
    return frozenset(chosen[:excess])


def _new_pods(
    podclique: PodClique,
    pods: Sequence[Pod],
    indexes: Sequence[int],
    taken: Container[str],
    gone: Mapping[int, str],
    attempt: int,
) -> Iterator[NewPod]:
    if not indexes:
        return
    predecessors: dict[int | None, list[str]] = {}
    for pod in owned_pods(podclique, pods):
        predecessors.setdefault(pod.index, []).append(pod.metadata.uid)
    restarted = (f"attempt {attempt}",) if attempt else ()
    used = {pod.metadata.name for pod in pods}
    for index in indexes:
        last = [gone[index]] if index in gone else []
        before = (*sorted(predecessors.get(index, last)), *restarted)
        for name in _names(podclique, index, before):
            if name not in used and name not in taken:
                used.add(name)
                yield NewPod(index, name, attempt)
                break


def _names(podclique: PodClique, index: int, predecessors: Sequence[str]) -> Iterator[str]:
    """Yield names for a pod, best first; the same input gives the same names."""
    for attempt in count():
        seed = "/".join((podclique.metadata.uid or "", str(index), str(attempt), *predecessors))
        yield f"{podclique.metadata.name}-{_suffix(seed)}"


def _suffix(seed: str) -> str:
    number = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest())
    letters = []
    for _ in range(_SUFFIX_LENGTH):
        number, letter = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return "".join(letters)
