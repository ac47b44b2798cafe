"""What the minimum of a gang requests, by which Volcano admits gangs to queues.

A PodGang does not contain the requests of its pods; its PodCliques do, which core creates with it.
Volcano decides about a PodGroup as soon as it sees it. So the PodGroup must not be written before
all PodCliques are known.
"""

from backend_controllers.volcano.api import VolcanoClique
from shared_api.kube.pod_resources import Sums, requests_of, total
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.quantities import written
from shared_api.models import JsonObject


def minimum_of(gang: ObservedPodGang, cliques: dict[str, VolcanoClique]) -> JsonObject:
    """Return the requests of all members together. Raise NoQuantityError if one is invalid."""
    parts: list[Sums] = []
    for group in gang.spec.podgroups:
        requests = requests_of(cliques[group.name].spec.pod_spec)
        parts.append({name: number * group.min_replicas for name, number in requests.items()})
    sums = total(parts)
    return {name: written(sums[name]) for name in sorted(sums) if sums[name]}
