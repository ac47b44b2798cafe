"""What every form of a gang has in common: counts, remarks, and when an object is replaced.

An immutable object is replaced only while a member still has to be scheduled through it. Running
pods never use it again. So a scheduled gang keeps its old object until a member is lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from backend_controllers.contract import pod_counts
from backend_controllers.contract.declaration import Facts, WhenRefused
from backend_controllers.contract.remarks import no_reservations
from backend_controllers.default.membership import Joined, outsiders
from backend_controllers.default.topology import ignored_preferences
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.models import JsonObject


@dataclass(frozen=True, slots=True)
class GangApiFeatures:
    """Parts of the API that have their own feature gates."""

    topology: bool = False
    """Group objects keep topology constraints."""
    priority: bool = False
    """Group objects have a priority and may be disrupted as a unit."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many members of each group are scheduled through the gang's objects."""

    joining: dict[str, int]
    outside: int


def count(gang: ObservedPodGang, facts: Facts, joined: Joined) -> Counts:
    """Count the members that are in the gang's objects or must be scheduled through them."""
    outside = outsiders(gang, facts.pods, joined)
    joining = {
        group.name: max(group.min_replicas - outside[group.name], 0)
        for group in gang.spec.podgroups
    }
    return Counts(joining, outside.total())


def when_refused(gang: ObservedPodGang, facts: Facts) -> WhenRefused:
    """Return what to do with an immutable object that differs."""
    is_scheduled = pod_counts.count(gang, facts.pods).is_scheduled
    return WhenRefused.KEEP if is_scheduled else WhenRefused.REPLACE


def remarks(gang: ObservedPodGang, counts: Counts, features: GangApiFeatures) -> Iterator[str]:
    """Yield what is ignored, whatever form the gang has."""
    yield from ignored_preferences(gang)
    yield from no_reservations(gang, "kube-scheduler")
    priority = gang.spec.priority_class_name
    if priority and not features.priority:
        yield (
            f"spec.priorityClassName={priority} applies to each pod, not to the gang. To apply it to"
            " the gang, use Kubernetes 1.36 with the feature gate WorkloadAwarePreemption, or 1.37"
        )
    if counts.outside:
        yield (
            f"{counts.outside} pods were created before this form of the gang and are not part of"
            " it. Delete them to recreate them in the gang"
        )


def controller_ref(gang: ObservedPodGang) -> JsonObject:
    """Return the object that a Workload is about. People and tools read it; it owns nothing."""
    return {"apiGroup": names.SCHEDULER_GROUP, "kind": gang.KIND, "name": gang.metadata.name}
