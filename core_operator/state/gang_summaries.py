"""Every gang in one line, kept until something about the gang changes.

A set of thousands of gangs is summed up again and again while it starts; looking at every pod
each time would cost more than all the rest. So a line is thrown away when the gang, one of
its PodCliques or one of its pods changes, and made again when somebody asks.
"""

from core_operator.metrics import CoreMetrics
from core_operator.plan.statuses.podgang import GangSummary, gang_summary
from core_operator.state.view import View
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import PodCliqueSet
from shared_api.runtime.watching.predicates import Watched


class Summaries:
    """The gangs in one line each."""

    def __init__(self, view: View, metrics: CoreMetrics) -> None:
        self._view = view
        self._metrics = metrics
        self._lines: dict[ObjectKey, GangSummary] = {}
        view.caches.gangs.subscribe(self._on_gang)
        view.caches.cliques.subscribe(self._on_member)
        view.caches.pods.subscribe(self._on_member)

    def of(self, pcs: PodCliqueSet) -> list[GangSummary]:
        """The gangs of a set that exist, in their order."""
        namespace = pcs.metadata.namespace or ""
        found = (
            self._line(ObjectKey(namespace, gang.name), pcs)
            for gang in self._view.expansion(pcs).gangs
        )
        return [line for line in found if line is not None]

    def _line(self, key: ObjectKey, pcs: PodCliqueSet) -> GangSummary | None:
        line = self._lines.get(key)
        if line is not None:
            return line
        gang = self._view.gang(key.namespace, key.name, pcs)
        if gang is None:
            return None
        cliques = self._view.cliques_of(gang, pcs)
        groups = self._view.group_pods(gang, cliques)
        line = self._lines[key] = gang_summary(gang, groups, cliques.values())
        blocked = line.blocked
        self._metrics.note(gang.metadata.uid or "", None if blocked is None else blocked.reason)
        return line

    def _on_gang(self, old: Watched | None, new: Watched | None) -> None:
        for value in (old, new):
            if value is not None:
                self._lines.pop(_key(value, value.metadata.name), None)
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._metrics.note(old.metadata.uid or "", None)

    def _on_member(self, old: Watched | None, new: Watched | None) -> None:
        for value in (old, new):
            if value is not None:
                gang = value.metadata.labels.get(names.LABEL_PODGANG, "")
                self._lines.pop(_key(value, gang), None)


def _key(value: Watched, name: str) -> ObjectKey:
    return ObjectKey(value.metadata.namespace or "", name)
