"""A summary of each gang for the status of its set, kept until the gang changes.

A set with thousands of gangs is summarized again and again while it starts; reading every pod each
time would cost more than all the rest. A summary is dropped when the gang, one of its PodCliques or
one of its pods changes, and computed again when it is needed.
"""

from core_operator.metrics import CoreMetrics
from core_operator.plan.statuses.podgang import GangSummary, gang_summary
from core_operator.state.view import View
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.models import PodCliqueSet
from shared_api.runtime.watching.predicates import Watched


class Summaries:
    """The summaries of all gangs."""

    def __init__(self, view: View, metrics: CoreMetrics) -> None:
        self._view = view
        self._metrics = metrics
        self._summaries: dict[ObjectKey, GangSummary] = {}
        view.caches.gangs.subscribe(self._on_gang)
        view.caches.cliques.subscribe(self._on_member)
        view.caches.pods.subscribe(self._on_member)

    def of(self, pcs: PodCliqueSet) -> list[GangSummary]:
        """Return the summaries of the gangs of a set that exist, in their order."""
        namespace = pcs.metadata.namespace or ""
        found = (
            self._summary(ObjectKey(namespace, gang.name), pcs)
            for gang in self._view.expansion(pcs).gangs
        )
        return [summary for summary in found if summary is not None]

    def _summary(self, key: ObjectKey, pcs: PodCliqueSet) -> GangSummary | None:
        summary = self._summaries.get(key)
        if summary is not None:
            return summary
        gang = self._view.gang(key.name, pcs)
        if gang is None:
            return None
        cliques = self._view.cliques_of(gang, pcs)
        groups = self._view.group_pods(gang, cliques)
        summary = self._summaries[key] = gang_summary(gang, groups, cliques.values())
        blocked = summary.blocker
        self._metrics.note(gang.metadata.uid or "", None if blocked is None else blocked.reason)
        return summary

    def _on_gang(self, old: Watched | None, new: Watched | None) -> None:
        for value in (old, new):
            if value is not None:
                self._summaries.pop(_key(value, value.metadata.name), None)
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._metrics.note(old.metadata.uid or "", None)

    def _on_member(self, old: Watched | None, new: Watched | None) -> None:
        for value in (old, new):
            if value is not None:
                gang = value.metadata.labels.get(names.LABEL_PODGANG, "")
                self._summaries.pop(_key(value, gang), None)


def _key(value: Watched, name: str) -> ObjectKey:
    return ObjectKey(value.metadata.namespace or "", name)
