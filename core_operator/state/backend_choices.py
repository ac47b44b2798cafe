"""The backend for the gangs of a set, worked out once for all of them.

Every gang of a set asks the same question, at each of its steps. The answer follows from the
set, the registered backends and the topology; it is kept as long as all three are the very
values that it was worked out from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core_operator.plan.backends import Backend, Choice, choose, needs_of
from core_operator.plan.placement import with_topology, with_wishes
from core_operator.plan.topology import Topology
from shared_api.models import PodCliqueSet


@dataclass(frozen=True, slots=True)
class _Known:
    pcs: PodCliqueSet
    backends: Mapping[str, Backend]
    topology: Topology
    choices: dict[tuple[str | None, bool], Choice] = field(default_factory=dict)

    def is_of(self, pcs: PodCliqueSet, backends: Mapping[str, Backend], topology: Topology) -> bool:
        """Tell whether nothing has changed that a choice follows from."""
        return self.pcs is pcs and self.backends is backends and self.topology is topology


class Choices:
    """The choices for sets, by UID."""

    def __init__(self, default: str) -> None:
        self._default = default
        self._known: dict[str, _Known] = {}

    def of(
        self,
        pcs: PodCliqueSet,
        backends: Mapping[str, Backend],
        topology: Topology,
        current: str | None,
        *,
        released: bool,
    ) -> Choice:
        """The backend for a gang of the set; `current` is the one that it has."""
        uid = pcs.metadata.uid or ""
        known = self._known.get(uid)
        if known is None or not known.is_of(pcs, backends, topology):
            known = self._known[uid] = _Known(pcs, backends, topology)
        found = known.choices.get((current, released))
        if found is None:
            found = self._choose(known, current, released=released)
            known.choices[current, released] = found
        return found

    def forget(self, uid: str) -> None:
        """Be told that a set is gone."""
        self._known.pop(uid, None)

    def _choose(self, known: _Known, current: str | None, *, released: bool) -> Choice:
        pcs, backends = known.pcs, known.backends
        choice = choose(pcs, needs_of(pcs), backends, self._default, current, released=released)
        if released:
            return with_wishes(choice, pcs, backends)
        return with_topology(choice, pcs, known.topology, backends)
