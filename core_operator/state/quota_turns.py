"""The namespaces whose quota is exhausted, as reconcilers of this process share them.

Reconcilers of PodCliques ask here before they create pods and report what is refused. The quota
reconciler decides who may go on. Nothing is stored: after a restart the next refusal is reported
again. While no quota is exhausted, every question is answered by one look into an empty dict.
"""

from collections.abc import Callable, Iterator, Mapping

from core_operator.plan.turns import Line, Step
from shared_api.kube.errors import Forbidden
from shared_api.kube.metadata import ObjectKey

_GATHERED = 0.02
_GATHERED_PER_GANG = 0.0002
"""Seconds in which PodCliques ask, and pods come and go, before all gangs are looked at."""


class Turns:
    """The constrained namespaces, and the gangs that ask for pods there."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}
        self._asks: dict[str, dict[ObjectKey, set[str]]] = {}
        self._giving_back: dict[str, frozenset[ObjectKey]] = {}
        self.wake: Callable[[ObjectKey, float], None] = lambda *_: None
        """Has a constrained namespace looked at after so many seconds."""

    def knows(self, key: ObjectKey) -> bool:
        """Tell whether the namespace of a key is constrained."""
        return key.namespace in self._lines

    def __iter__(self) -> Iterator[ObjectKey]:
        return (ObjectKey(namespace, "") for namespace in self._lines)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def line(self, namespace: str) -> Line | None:
        """The state of a namespace; None if it is not constrained."""
        return self._lines.get(namespace)

    def asks(self, namespace: str) -> Mapping[ObjectKey, set[str]]:
        """The gangs that ask for pods, with the names of their PodCliques that do."""
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
            self.look_at(gang.namespace)

    def withdraw(self, gang: ObjectKey, clique: str) -> None:
        """Note that a PodClique has nothing to create."""
        asks = self._asks.get(gang.namespace)
        if asks is None or clique not in asks.get(gang, ()):
            return
        asks[gang].discard(clique)
        if not asks[gang]:
            del asks[gang]
        self.look_at(gang.namespace)

    def refused(self, gang: ObjectKey, clique: str, error: Forbidden, now: float) -> None:
        """Note that the API server has refused a pod for quota."""
        # Pods may have gone just before.
        line = self._lines.get(gang.namespace) or Line(error.exceeded_quota, freed_at=now)
        self._lines[gang.namespace] = line.refused(gang, error.exceeded_quota, now)
        self.ask(gang, clique)
        self.look_at(gang.namespace)

    def hold_for(self, gang: ObjectKey, now: float) -> None:
        """Note that a pod of a running gang is about to be deleted and replaced."""
        if (line := self._lines.get(gang.namespace)) is not None:
            self._lines[gang.namespace] = line.held_for(gang, now)
            self.look_at(gang.namespace)

    def freed(self, namespace: str, now: float, *, given_back: bool) -> None:
        """Note that a pod of a constrained namespace is gone."""
        line = self._lines[namespace]
        self._lines[namespace] = line.freed(now, given_back=given_back)

    def take(self, namespace: str, step: Step) -> None:
        """Go on with what was decided about a namespace."""
        self._giving_back[namespace] = step.give_back
        if step.line is not None:
            self._lines[namespace] = step.line
            return
        for state in (self._lines, self._asks, self._giving_back):
            state.pop(namespace, None)

    def forget(self, namespace: str, exists: Callable[[ObjectKey], bool]) -> None:
        """Drop what gangs ask for that do not exist any more."""
        asks = self._asks.get(namespace, {})
        for gang in [gang for gang in asks if not exists(gang)]:
            del asks[gang]

    def look_at(self, namespace: str) -> None:
        """Have a namespace looked at soon; where many gangs ask, a look takes longer."""
        delay = _GATHERED + _GATHERED_PER_GANG * len(self._asks.get(namespace, ()))
        self.wake(ObjectKey(namespace, ""), delay)
