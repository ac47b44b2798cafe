"""Ready pods that an update selected for replacement, in their order, as Grove lists them.

`PodWriter` notes them, and the status of the PodClique lists them. They are kept for the template
that the update leads to, and forgotten with the PodClique. After a restart, earlier selections are
read from the status.
"""

from collections.abc import Iterable

from core_operator.plan.pods.replicas import template_hash_of
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import PodClique


class UpdateSelections:
    """The selected pods of PodCliques that are being updated."""

    def __init__(self) -> None:
        self._selected: dict[str, tuple[str, list[str]]] = {}

    def note(self, clique: PodClique, pods: Iterable[Pod]) -> None:
        """Note deletions; only ready pods of another template count."""
        target = _target(clique)
        selected = [
            pod.metadata.name for pod in pods if pod.is_ready and template_hash_of(pod) != target
        ]
        if selected:
            uid = clique.metadata.uid or ""
            known, named = self._selected.get(uid, (target, []))
            kept = named if known == target else []
            self._selected[uid] = (
                target,
                [*kept, *(name for name in selected if name not in kept)],
            )

    def of(self, clique: PodClique) -> tuple[str, ...]:
        """Return the names of the pods that the present update selected, in their order."""
        target, named = self._selected.get(clique.metadata.uid or "", ("", []))
        return tuple(named) if target == _target(clique) else ()

    def forget(self, uid: str) -> None:
        """Forget a PodClique that is gone."""
        self._selected.pop(uid, None)


def _target(clique: PodClique) -> str:
    return clique.metadata.labels.get(names.LABEL_POD_TEMPLATE_HASH, "")
