"""What the minimum of a gang asks for, by which Volcano lets gangs into queues.

A PodGang does not say what its pods ask for; the PodCliques do, which core makes together
with it. Volcano decides about a PodGroup as soon as it sees it, so the PodGroup is not
written before all of them are known.
"""

from backend_controllers.contract.declaration import Facts
from backend_controllers.volcano.api import CLIQUES, ObservedClique
from shared_api.kube.pod_resources import Sums, requests_of, total
from shared_api.kube.podgangs import PodGang
from shared_api.kube.quantities import written
from shared_api.models import JsonObject


def unknown_clique(gang: PodGang, facts: Facts) -> str:
    """A PodClique of the gang that is still to come; empty if all are there."""
    for group in gang.spec.podgroups:
        if _clique(gang, group.name, facts) is None:
            return group.name
    return ""


def minimum_of(gang: PodGang, facts: Facts) -> JsonObject:
    """The requests of all members together; NoQuantityError if a clique states none."""
    asked: list[Sums] = []
    for group in gang.spec.podgroups:
        clique = _clique(gang, group.name, facts)
        requests = requests_of(clique.spec.pod_spec) if clique is not None else {}
        asked.append({name: number * group.min_replicas for name, number in requests.items()})
    sums = total(asked)
    return {name: written(sums[name]) for name in sorted(sums) if sums[name]}


def _clique(gang: PodGang, name: str, facts: Facts) -> ObservedClique | None:
    found = facts.get(CLIQUES, gang.metadata.namespace, name)
    return found if isinstance(found, ObservedClique) else None
