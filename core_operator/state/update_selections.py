"""Pods that served and were chosen by an update, one after the other, as Grove lists them.

Who deletes such a pod says so here, and the status of its PodClique tells of it. It is kept for
the template that the update leads to and forgotten with the PodClique; what was told before a
restart stands in the status and is taken from there.
"""

from collections.abc import Iterable

from core_operator.plan.replicas import hash_of
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique


class Selections:
    """The chosen pods of PodCliques that are being updated."""

    def __init__(self) -> None:
        self._chosen: dict[str, tuple[str, list[str]]] = {}

    def note(self, clique: PodClique, pods: Iterable[Pod]) -> None:
        """Be told of deletions; what counts are pods of another template that served."""
        target = _target(clique)
        chosen = [pod.metadata.name for pod in pods if pod.is_ready and hash_of(pod) != target]
        if chosen:
            uid = clique.metadata.uid or ""
            known, named = self._chosen.get(uid, (target, []))
            kept = named if known == target else []
            self._chosen[uid] = (target, [*kept, *(name for name in chosen if name not in kept)])

    def of(self, clique: PodClique) -> tuple[str, ...]:
        """Names of the pods that were chosen in the present update, in their order."""
        target, named = self._chosen.get(clique.metadata.uid or "", ("", []))
        return tuple(named) if target == _target(clique) else ()

    def forget(self, uid: str) -> None:
        """Be told that a PodClique is gone."""
        self._chosen.pop(uid, None)


def _target(clique: PodClique) -> str:
    return clique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH, "")
