"""Which pods of a PodClique to create and which to delete.

A pod is known by its index, which is read from its label and never from its name. An index
belongs to at most one live pod and is kept by the replacement of a pod that ended. Only pods
that the PodClique controls are ever deleted. Scaling in takes pods above the minimum, since those
below are the gang as the scheduler knows it: each of them always exists, and neither the bound
nor the ready pods become fewer than the minimum. A pod above it that is needed for that stays
until the others serve, even where that is one more than was asked for.

A new pod's name follows from the PodClique, the index and the pods that had the index before.
Whoever creates it again after a crash therefore asks for the same name, and is told that it
exists; the replacement of a pod that is still going away has another one.
"""

import hashlib
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from pydantic import JsonValue

from core_operator.plan.preparation import Preparation, index_of
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


def is_made_for(pod: Pod, podclique: str) -> bool:
    """Tell whether a pod was made for the PodClique of this name.

    Its own name says so, and nothing else that it carries is safe from being edited.
    """
    return pod.metadata.name.rpartition("-")[0] == podclique


def owned_pods(podclique: PodClique, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """The pods that the PodClique controls; a pod that merely carries its labels is not one."""
    uid = podclique.metadata.uid
    return tuple(
        pod
        for pod in pods
        if (owner := pod.metadata.controller) is not None and owner.uid == uid and uid
    )


def lost_labels(podclique: PodClique, pod: Pod) -> dict[str, str]:
    """Return the labels that say whose a pod is and that somebody removed or changed.

    Only these: what else is on a pod is of the template that it was made from.
    """
    ours, live = podclique.metadata.labels, pod.metadata.labels
    lost = {
        key: ours[key]
        for key in (names.LABEL_PODGANG, names.LABEL_PART_OF)
        if key in ours and live.get(key) != ours[key]
    }
    if live.get(names.LABEL_PODCLIQUE) != podclique.metadata.name:
        lost[names.LABEL_PODCLIQUE] = podclique.metadata.name
    return lost


def stays_patch(uid: str) -> list[JsonValue]:
    """A JSON patch that changes nothing, and fails unless the object is there to stay."""
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
) -> PodPlan:
    """What is to be done about the pods of a PodClique.

    `preparation` is what new pods are made with; pods without a node that do not suit it are
    recreated. `taken` are names of pods that exist, of others too.
    """
    owned = owned_pods(podclique, pods)
    live = tuple(pod for pod in owned if is_live(pod))
    if podclique.metadata.deletion_timestamp is not None:
        return PodPlan(create=(), delete=(), keep=live)
    ended = tuple(
        pod for pod in owned if pod.status.phase in _ENDED and not pod.metadata.is_terminating
    )
    by_index = _one_per_index(pod for pod in live if not preparation.outdates(pod))
    members = min(min_available, podclique.spec.replicas)
    lacking = sum(index not in by_index for index in range(members))
    excess = len(by_index) + lacking - podclique.spec.replicas
    expendable: frozenset[int] = frozenset()
    if excess > 0:
        template_hash = podclique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH)
        expendable = _expendable(by_index, excess, members, template_hash)
    keep = {index: pod for index, pod in by_index.items() if index not in expendable}
    kept = {pod.metadata.uid for pod in keep.values()}
    return PodPlan(
        create=tuple(_new_pods(podclique, pods, keep, lacking, taken)),
        delete=(*ended, *(pod for pod in live if pod.metadata.uid not in kept)),
        keep=tuple(keep.values()),
    )


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
    """Indexes to give up, all of them above the minimum.

    The unbound go first, then the unready, then those of another template, then the highest
    index. A pod is passed over while it is one of the last `minimum` that are bound or ready.
    """
    order = sorted(
        (index for index in pods if index >= minimum),
        key=lambda index: (
            is_bound(pods[index]),
            pods[index].is_ready,
            pods[index].metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH) == template_hash,
            -index,
        ),
    )
    spare_bound = max(0, sum(map(is_bound, pods.values())) - minimum)
    spare_ready = max(0, sum(pod.is_ready for pod in pods.values()) - minimum)
    given_up: list[int] = []
    for index in order:
        bound, ready = is_bound(pods[index]), pods[index].is_ready
        if (bound and not spare_bound) or (ready and not spare_ready):
            continue
        spare_bound -= bound
        spare_ready -= ready
        given_up.append(index)
    return frozenset(given_up[:excess])


def _new_pods(
    podclique: PodClique,
    pods: Sequence[Pod],
    keep: Collection[int],
    lacking: int,
    taken: Container[str],
) -> Iterator[NewPod]:
    # A member that is not there is missing, whoever is there in its stead.
    missing = max(podclique.spec.replicas - len(keep), lacking)
    if missing <= 0:
        return
    predecessors: dict[int | None, list[str]] = {}
    for pod in owned_pods(podclique, pods):
        predecessors.setdefault(index_of(pod), []).append(pod.metadata.uid)
    used = {pod.metadata.name for pod in pods}
    free = (index for index in count() if index not in keep)
    for index, _ in zip(free, range(missing), strict=False):
        for name in _names(podclique, index, sorted(predecessors.get(index, ()))):
            if name not in used and name not in taken:
                used.add(name)
                yield NewPod(index, name)
                break


def _names(podclique: PodClique, index: int, predecessors: Sequence[str]) -> Iterator[str]:
    """Names for a pod, best first; the same ones for the same pod of the same PodClique."""
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
