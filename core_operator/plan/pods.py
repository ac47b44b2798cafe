"""Which pods of a PodClique to create and which to delete.

A pod is known by its index, which is read from its label and never from its name. An index
belongs to at most one live pod and is kept by the replacement of a pod that ended. Only pods
that the PodClique controls are ever deleted. Scaling in takes pods above the minimum first,
since those below are the gang as the scheduler knows it, and neither the bound nor the ready
pods become fewer than the minimum by it.

A new pod's name follows from the PodClique, the index and the pods that had the index before.
Whoever creates it again after a crash therefore asks for the same name, and is told that it
exists; the replacement of a pod that is still going away has another one.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique

# No vowels and no look-alikes, as in the names that the API server generates.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_ENDED = frozenset({"Failed", "Succeeded"})


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to create."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class PodPlan:
    """What turns the pods that exist into those that should."""

    create: tuple[NewPod, ...]
    delete: tuple[Pod, ...]
    keep: tuple[Pod, ...]


def is_live(pod: Pod) -> bool:
    """Tell whether a pod counts: it neither ended nor is it going away."""
    return not pod.metadata.is_terminating and pod.status.phase not in _ENDED


def is_bound(pod: Pod) -> bool:
    """Tell whether a pod has a node."""
    return pod.spec.node_name != ""


def index_of(pod: Pod) -> int | None:
    """The index of a pod in its PodClique; None if nobody gave it a proper one."""
    label = pod.metadata.labels.get(names.LABEL_POD_INDEX, "")
    return int(label) if label.isdecimal() and label.isascii() else None


def is_prepared_for(pod: Pod, backend: str) -> bool:
    """Tell whether a pod was made for this backend, or is past the point where that matters."""
    return not pod.is_gated or pod.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) == backend


def owned_pods(podclique: PodClique, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """The pods that the PodClique controls; a pod that merely carries its labels is not one."""
    uid = podclique.metadata.uid
    return tuple(
        pod
        for pod in pods
        if (owner := pod.metadata.controller) is not None and owner.uid == uid and uid
    )


def plan_pods(
    podclique: PodClique,
    pods: Sequence[Pod],
    min_available: int,
    backend: str,
    taken: Collection[str] = (),
) -> PodPlan:
    """What is to be done about the pods of a PodClique.

    `backend` is the one that new pods are prepared for; pods that are still gated for another
    are made anew. `taken` are names that are known to belong to pods of others.
    """
    owned = owned_pods(podclique, pods)
    live = tuple(pod for pod in owned if is_live(pod))
    if podclique.metadata.deletion_timestamp is not None:
        return PodPlan(create=(), delete=(), keep=live)
    ended = tuple(
        pod for pod in owned if pod.status.phase in _ENDED and not pod.metadata.is_terminating
    )
    by_index = _one_per_index(pod for pod in live if is_prepared_for(pod, backend))
    excess = len(by_index) - podclique.spec.replicas
    expendable: frozenset[int] = frozenset()
    if excess > 0:
        template_hash = podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)
        expendable = _expendable(by_index, excess, min_available, template_hash)
    keep = {index: pod for index, pod in by_index.items() if index not in expendable}
    kept = {pod.metadata.uid for pod in keep.values()}
    return PodPlan(
        create=tuple(_new_pods(podclique, owned, keep, {*taken, *_names(pods)})),
        delete=(*ended, *(pod for pod in live if pod.metadata.uid not in kept)),
        keep=tuple(keep.values()),
    )


def _names(pods: Sequence[Pod]) -> Iterator[str]:
    return (pod.metadata.name for pod in pods)


def _one_per_index(pods: Iterator[Pod]) -> dict[int, Pod]:
    """The pod that an index belongs to, in the order of indexes.

    Two pods share one, or have none, only if somebody edited labels. Peers address a pod by
    its index, so the one that is furthest in its life keeps it.
    """
    chosen: dict[int, Pod] = {}
    for pod in sorted(pods, key=_seniority):
        index = index_of(pod)
        if index is not None:
            chosen.setdefault(index, pod)
    return dict(sorted(chosen.items()))


def _seniority(pod: Pod) -> tuple[bool, bool, bool, str, str]:
    return (
        not pod.is_ready,
        not is_bound(pod),
        pod.is_gated,
        pod.metadata.creation_timestamp,
        pod.metadata.uid,
    )


def _expendable(
    pods: dict[int, Pod], excess: int, minimum: int, template_hash: str | None
) -> frozenset[int]:
    """Indexes to give up.

    Surplus pods go before members, and in each of the two the unbound, then the unready, then
    those of another template, then the highest index. A pod is passed over while it is one of the last `minimum` that are
    bound or ready; only somebody who asks for fewer than the minimum gets those too.
    """
    order = sorted(
        pods,
        key=lambda index: (
            index < minimum,
            is_bound(pods[index]),
            pods[index].is_ready,
            pods[index].metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH) == template_hash,
            -index,
        ),
    )
    spare_bound = max(0, sum(map(is_bound, pods.values())) - minimum)
    spare_ready = max(0, sum(pod.is_ready for pod in pods.values()) - minimum)
    given_up: list[int] = []
    passed_over: list[int] = []
    for index in order:
        bound, ready = is_bound(pods[index]), pods[index].is_ready
        if (bound and not spare_bound) or (ready and not spare_ready):
            passed_over.append(index)
            continue
        spare_bound -= bound
        spare_ready -= ready
        given_up.append(index)
    return frozenset((given_up + passed_over)[:excess])


def _new_pods(
    podclique: PodClique, owned: Sequence[Pod], keep: Collection[int], taken: set[str]
) -> Iterator[NewPod]:
    missing = podclique.spec.replicas - len(keep)
    if missing <= 0:
        return
    predecessors: dict[int | None, list[str]] = {}
    for pod in owned:
        predecessors.setdefault(index_of(pod), []).append(pod.metadata.uid)
    free = (index for index in count() if index not in keep)
    for index, _ in zip(free, range(missing), strict=False):
        name = _name(podclique, index, sorted(predecessors.get(index, ())), taken)
        taken.add(name)
        yield NewPod(index, name)


def _name(
    podclique: PodClique, index: int, predecessors: Sequence[str], taken: Collection[str]
) -> str:
    """A name that is free; the same one for the same pod of the same PodClique."""
    for attempt in count():
        seed = "/".join((podclique.metadata.uid or "", str(index), str(attempt), *predecessors))
        name = f"{podclique.metadata.name}-{_suffix(seed)}"
        if name not in taken:
            return name
    raise AssertionError("unreachable: the attempts are endless")


def _suffix(seed: str) -> str:
    number = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest())
    letters = []
    for _ in range(_SUFFIX_LENGTH):
        number, letter = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return "".join(letters)
