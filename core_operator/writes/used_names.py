"""Names of pods that are gone, which new pods must not get again.

A process remembers the pods that it saw going. One that has just started did not see them, but the
PodGang still refers to them. Such a pod may also be one that the cache does not show yet, which must
not be created a second time under another name. So the server is asked before a name counts as used.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass

from core_operator.context import CoreContext
from core_operator.plan.pods.pod_plan import PodPlan
from core_operator.writes.child_writer import AT_ONCE
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import PODS
from shared_api.models import PodClique, PodGang
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Target
from shared_api.runtime.reconciling.slowstart import slow_start


@dataclass(frozen=True, slots=True)
class _Either:
    """Names that are in one of two containers; the first may be large and is not copied."""

    visible: Container[str]
    used: Container[str]

    def __contains__(self, name: object) -> bool:
        return name in self.visible or name in self.used


class UsedNames:
    """The names that PodCliques used before this process started."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._view = context.view
        self._applier = applier
        self._parallel = context.settings.concurrency.writes
        self._pods = Target(PODS, context.view.caches.pods)
        self._used: dict[str, frozenset[str]] = {}
        context.view.caches.cliques.subscribe(self._on_clique)

    def taken(self, clique: PodClique) -> Container[str]:
        """Return the names that no new pod of a PodClique may have."""
        visible = self._view.pod_names(clique.metadata.namespace or "")
        used = self._used.get(clique.metadata.uid or "")
        return visible if used is None else _Either(visible, used)

    async def replanned(
        self, plan: PodPlan, clique: PodClique, gang: PodGang, again: Callable[[], PodPlan]
    ) -> PodPlan:
        """Return the plan, or another one if a name in it turns out to be used."""
        return again() if plan.create and await self._learn(clique, gang, plan) else plan

    async def _learn(self, clique: PodClique, gang: PodGang, plan: PodPlan) -> bool:
        """Ask the server about planned names that the gang refers to; return whether one is used."""
        referenced = {
            reference.name
            for group in gang.spec.podgroups
            if group.name == clique.metadata.name
            for reference in group.pod_references
        }
        asked = sorted(referenced.intersection(new.name for new in plan.create))
        gone: set[str] = set()

        async def ask(name: str) -> None:
            key = ObjectKey(clique.metadata.namespace or "", name)
            if await self._applier.hidden(self._pods, key) is None:
                gone.add(name)

        await slow_start(asked, ask, limit=self._parallel, first=AT_ONCE)
        uid = clique.metadata.uid or ""
        # The PodClique may be gone by now, and with it the event that forgets its names.
        if gone and self._view.caches.cliques.get_by_uid(uid) is not None:
            self._used[uid] = self._used.get(uid, frozenset()) | gone
        return bool(gone)

    def _on_clique(self, old: Applied[PodClique] | None, new: Applied[PodClique] | None) -> None:
        if old is not None and new is None:
            self._used.pop(old.metadata.uid or "", None)
