"""Labels and annotations that users set for a scheduler, on a PodCliqueSet or on its cliques.

A scheduler has one value for a whole gang, such as its queue. The value of the PodCliqueSet counts,
else that of its cliques, also for a gang none of whose own cliques has it. Values that differ are a
contradiction, which must reject the gang. All of them are read from the PodCliqueSet: a gang
inherits a changed value later, and until then the two would seem to contradict each other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from backend_controllers.contract.declaration import Facts, Reads
from backend_controllers.contract.queues import listed
from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import Resource

SETS = Resource(names.GROVE_GROUP, names.VERSION, "podcliquesets", "PodCliqueSet")

_THE_SET = "the PodCliqueSet"


class _Clique(msgspec.Struct, frozen=True):
    name: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class _Template(msgspec.Struct, frozen=True):
    cliques: tuple[_Clique, ...] = ()


class _Spec(msgspec.Struct, frozen=True):
    template: _Template = _Template()


class ObservedSet(msgspec.Struct, frozen=True):
    """A PodCliqueSet: labels and annotations of itself and of its cliques."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _Spec = _Spec()


READS_SETS = Reads(SETS, ObservedSet, owns_gangs=True)


@dataclass(frozen=True, slots=True)
class RequestedValues:
    """What users set for one gang."""

    gang: ObservedPodGang
    pcs: ObservedSet | None
    """None for a gang that no PodCliqueSet controls, or whose PodCliqueSet is not known yet."""

    @property
    def missing(self) -> str:
        """The PodCliqueSet of the gang, if it is not known yet; otherwise empty."""
        name = _set_of(self.gang)
        return f"PodCliqueSet {name}" if name and self.pcs is None else ""

    def value(self, *keys: str) -> str | None:
        """Return the value of the first of these keys that is set: on the set, else on a clique."""
        inherited = _stated(self.gang.metadata, keys)
        return next((value for _, value in self._places(keys)), inherited) or None

    def contradiction(self, *keys: str) -> str:
        """Return which cliques have which value, if the values differ; otherwise empty."""
        places: dict[str, list[str]] = {}
        for place, value in self._places(keys):
            places.setdefault(value, []).append(place)
        if len(places) < 2:
            return ""
        found = "; ".join(f"'{value}' on {_joined(where)}" for value, where in places.items())
        return (
            f"{' or '.join(keys)} has different values: {found}. All cliques share one value: set it"
            " on the PodCliqueSet alone, or the same on all cliques"
        )

    def _places(self, keys: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        if self.pcs is None:
            return
        if value := _stated(self.pcs.metadata, keys):
            yield _THE_SET, value
        for clique in self.pcs.spec.template.cliques:
            if value := _stated(clique, keys):
                yield clique.name, value


def requested_values(gang: ObservedPodGang, facts: Facts) -> RequestedValues:
    """Return what users set for a gang."""
    owner = gang.metadata.controller
    found = facts.get(SETS, gang.metadata.namespace, name) if (name := _set_of(gang)) else None
    is_owner = found is not None and owner is not None and found.metadata.uid == owner.uid
    return RequestedValues(gang, found if isinstance(found, ObservedSet) and is_owner else None)


def _set_of(gang: ObservedPodGang) -> str:
    owner = gang.metadata.controller
    is_set = owner is not None and (owner.api_version, owner.kind) == (SETS.api_version, SETS.kind)
    return owner.name if owner is not None and is_set else ""


def _stated(found: Metadata | _Clique, keys: tuple[str, ...]) -> str:
    """Return the value at one place: of a label first, then of an annotation."""
    stated = (entries.get(key, "") for entries in (found.labels, found.annotations) for key in keys)
    return next(filter(None, (value.strip() for value in stated)), "")


def _joined(places: list[str]) -> str:
    cliques = [place for place in places if place != _THE_SET]
    title = "clique" if len(cliques) == 1 else "cliques"
    named = [f"{title} {listed(cliques)}"] if cliques else []
    return " and ".join([_THE_SET, *named] if _THE_SET in places else named)
