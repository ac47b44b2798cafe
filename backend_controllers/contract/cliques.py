"""The PodCliques of a gang, with the requests of its pods. A backend may have its own projection."""

from typing import TypeVar

import msgspec

from backend_controllers.contract.declaration import Facts
from shared_api import names
from shared_api.capacity.nodes import PlannedPod
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.predicates import Watched

CLIQUES = Resource(names.GROVE_GROUP, names.VERSION, "podcliques", "PodClique")

C = TypeVar("C")


class _CliqueSpec(msgspec.Struct, frozen=True, rename="camel"):
    pod_spec: PlannedPod = PlannedPod()


class GangClique(msgspec.Struct, frozen=True):
    """A PodClique: what decides where its pods fit."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _CliqueSpec = _CliqueSpec()


def template_of(clique: Watched) -> PlannedPod:
    """Return what decides where the pods of a clique fit, from any backend's projection."""
    if isinstance(clique, GangClique):
        return clique.spec.pod_spec
    spec = getattr(getattr(clique, "spec", None), "pod_spec", PlannedPod())
    return msgspec.convert(spec, PlannedPod, from_attributes=True)


def cliques_of(gang: ObservedPodGang, facts: Facts, projection: type[C]) -> dict[str, C]:
    """Return the PodCliques of a gang that exist, by the name of their group."""
    namespace = gang.metadata.namespace
    found = {group.name: facts.get(CLIQUES, namespace, group.name) for group in gang.spec.podgroups}
    return {name: clique for name, clique in found.items() if isinstance(clique, projection)}


def missing_clique(gang: ObservedPodGang, cliques: dict[str, C]) -> str:
    """Return the first group of a gang whose PodClique does not exist yet; empty if all exist."""
    return next((group.name for group in gang.spec.podgroups if group.name not in cliques), "")
