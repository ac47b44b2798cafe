"""The PodCliques of a gang, with the requests of its pods. Each backend has its own projection."""

from typing import TypeVar

from backend_controllers.contract.declaration import Facts
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import Resource

CLIQUES = Resource(names.GROVE_GROUP, names.VERSION, "podcliques", "PodClique")

C = TypeVar("C")


def cliques_of(gang: ObservedPodGang, facts: Facts, projection: type[C]) -> dict[str, C]:
    """Return the PodCliques of a gang that exist, by the name of their group."""
    namespace = gang.metadata.namespace
    found = {group.name: facts.get(CLIQUES, namespace, group.name) for group in gang.spec.podgroups}
    return {name: clique for name, clique in found.items() if isinstance(clique, projection)}


def missing_clique(gang: ObservedPodGang, cliques: dict[str, C]) -> str:
    """Return the first group of a gang whose PodClique does not exist yet; empty if all exist."""
    return next((group.name for group in gang.spec.podgroups if group.name not in cliques), "")
