"""The namespaces whose quota is exhausted, as the controllers of this process share them.

The PodClique controller asks here before it creates pods, and reports refusals. The quota
controller decides which gang may create pods. Nothing is stored: after a restart the next refusal
is reported again. While no quota is exhausted, every question is one lookup in an empty dict.
"""

from collections.abc import Callable, Iterator, Mapping

from core_operator.plan.quota_turns import QuotaState, QuotaStep
from shared_api.kube.errors import Forbidden
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.watching.channel import Channel

_GATHERED = 0.02
_GATHERED_PER_GANG = 0.0002
"""Seconds in which changes are gathered before all gangs of a namespace are reconciled."""


class QuotaTurns:
    """The constrained namespaces, and the gangs that ask for pods there."""

    def __init__(self) -> None:
        self._lines: dict[str, QuotaState] = {}
        self._asks: dict[str, dict[ObjectKey, set[str]]] = {}
        self._giving_back: dict[str, frozenset[ObjectKey]] = {}
        self.changed: Channel[str] = Channel("quota changed")
        """Constrained namespaces in which a gang or a pod changed something."""
        self.opened: Channel[ObjectKey] = Channel("quota turn opened")
        """PodCliques whose gang may create pods now."""

    def knows(self, key: ObjectKey) -> bool:
        """Tell whether the namespace of a key is constrained."""
        return key.namespace in self._lines

    def __iter__(self) -> Iterator[ObjectKey]:
        return (ObjectKey(namespace, "") for namespace in self._lines)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def line(self, namespace: str) -> QuotaState | None:
        """Return the state of a namespace; None if it is not constrained."""
        return self._lines.get(namespace)

    def asks(self, namespace: str) -> Mapping[ObjectKey, set[str]]:
        """Return the gangs that ask for pods, with the names of their asking PodCliques."""
        return self._asks.get(namespace, {})

    def may_create(self, gang: ObjectKey) -> bool:
        """Tell whether a gang may create pods now."""
        line = self._lines.get(gang.namespace)
        return line is None or line.may_create(gang)

    def gives_back(self, gang: ObjectKey) -> bool:
        """Tell whether pods of a gang are being deleted, so that none of them may be ungated."""
        return gang in self._giving_back.get(gang.namespace, ())

    def ask(self, gang: ObjectKey, clique: str) -> None:
        """Note that a PodClique has pods to create and may not."""
        cliques = self._asks.setdefault(gang.namespace, {}).setdefault(gang, set())
        if clique not in cliques:
            cliques.add(clique)
            self.changed.send(gang.namespace)

    def withdraw(self, gang: ObjectKey, clique: str) -> None:
        """Note that a PodClique has nothing to create."""
        asks = self._asks.get(gang.namespace)
        if asks is None or clique not in asks.get(gang, ()):
            return
        asks[gang].discard(clique)
        if not asks[gang]:
            del asks[gang]
        self.changed.send(gang.namespace)

    def refused(self, gang: ObjectKey, clique: str, error: Forbidden, now: float) -> None:
        """Note that the API server has refused a pod for quota."""
        # Quota may have been freed just before.
        line = self._lines.get(gang.namespace) or QuotaState(error.exceeded_quota, freed_at=now)
        self._lines[gang.namespace] = line.refused(gang, error.exceeded_quota, now)
        self.ask(gang, clique)
        self.changed.send(gang.namespace)

    def reserve_for(self, gang: ObjectKey, now: float) -> None:
        """Note that a pod of a running gang is about to be deleted and replaced."""
        if (line := self._lines.get(gang.namespace)) is not None:
            self._lines[gang.namespace] = line.reserve_for(gang, now)
            self.changed.send(gang.namespace)

    def freed(self, namespace: str, now: float, *, given_back: bool) -> None:
        """Note that a pod of a constrained namespace is gone."""
        line = self._lines[namespace]
        self._lines[namespace] = line.freed(now, given_back=given_back)

    def apply(self, namespace: str, step: QuotaStep) -> None:
        """Apply what was decided about a namespace."""
        self._giving_back[namespace] = step.give_back
        if step.state is not None:
            self._lines[namespace] = step.state
            return
        for state in (self._lines, self._asks, self._giving_back):
            state.pop(namespace, None)

    def forget(self, namespace: str, exists: Callable[[ObjectKey], bool]) -> None:
        """Forget the requests of gangs that do not exist any more."""
        asks = self._asks.get(namespace, {})
        for gang in [gang for gang in asks if not exists(gang)]:
            del asks[gang]

    def delay(self, namespace: str) -> float:
        """Return the seconds in which changes of a namespace are gathered before a reconcile."""
        return _GATHERED + _GATHERED_PER_GANG * len(self._asks.get(namespace, ()))
