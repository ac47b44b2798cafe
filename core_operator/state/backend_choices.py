"""The backend for the gangs of a set, computed once for all of them.

Every gang of a set needs the same answer at each of its steps. It follows from the set, the
registered backends and the topology, and is kept while all three are the same objects.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core_operator.plan.placement.backends import Choice, RegisteredBackend, choose, needs_of
from core_operator.plan.placement.gang_placement import with_ignored_preferences, with_topology
from core_operator.plan.placement.topology import Topology
from shared_api.models import PodCliqueSet


@dataclass(frozen=True, slots=True)
class _Known:
    pcs: PodCliqueSet
    backends: Mapping[str, RegisteredBackend]
    topology: Topology
    choices: dict[tuple[str | None, bool], Choice] = field(default_factory=dict)

    def is_of(
        self, pcs: PodCliqueSet, backends: Mapping[str, RegisteredBackend], topology: Topology
    ) -> bool:
        """Tell whether the inputs are the same objects."""
        return self.pcs is pcs and self.backends is backends and self.topology is topology


class Choices:
    """The choices for sets, by UID."""

    def __init__(self, default: str) -> None:
        self._default = default
        self._known: dict[str, _Known] = {}

    def of(
        self,
        pcs: PodCliqueSet,
        backends: Mapping[str, RegisteredBackend],
        topology: Topology,
        current: str | None,
        *,
        released: bool,
    ) -> Choice:
        """Return the backend for a gang of the set; `current` is its present one."""
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
        """Forget a set that is gone."""
        self._known.pop(uid, None)

    def _choose(self, known: _Known, current: str | None, *, released: bool) -> Choice:
        pcs, backends = known.pcs, known.backends
        choice = choose(pcs, needs_of(pcs), backends, self._default, current, released=released)
        if released:
            return with_ignored_preferences(choice, pcs, backends)
        return with_topology(choice, pcs, known.topology, backends)
