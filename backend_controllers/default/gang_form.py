"""What every form of a gang has in common: counts, remarks, and when an object is replaced.

An object that cannot be changed is replaced only while a member still has to be placed
through it. Pods that run never look at it again, so for a gang that is placed the old object
is kept until a member is lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from backend_controllers.contract import pod_counts as counting
from backend_controllers.contract.declaration import Facts, WhenRefused
from backend_controllers.default.membership import Joined, outsiders
from backend_controllers.default.topology import unmet_preferences
from shared_api import names
from shared_api.kube.podgangs import PodGang
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject


@dataclass(frozen=True, slots=True)
class Features:
    """Parts of the API that have feature gates of their own."""

    topology: bool = False
    """Group objects keep topology constraints."""
    priority: bool = False
    """Group objects have a priority and may be disrupted as a unit."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many members of each group have to be placed through the gang's objects."""

    joining: dict[str, int]
    outside: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.joining.values())


def count(gang: PodGang, facts: Facts, joined: Joined) -> Counts:
    """Count the members that are in the gang's objects or have to be scheduled through them."""
    outside = outsiders(gang, facts.pods, joined)
    joining = {
        group.name: max(group.min_replicas - outside[group.name], 0)
        for group in gang.spec.podgroups
    }
    return Counts(joining, outside.total())


def when_refused(gang: PodGang, facts: Facts) -> WhenRefused:
    """What to do about an object that the server does not let us change."""
    is_placed = counting.count(gang, facts.pods).is_scheduled
    return WhenRefused.KEEP if is_placed else WhenRefused.REPLACE


def remarks(gang: PodGang, counts: Counts, features: Features) -> tuple[str, ...]:
    """What is left undone, whatever form the gang takes."""
    return tuple(_remarks(gang, counts, features))


def _remarks(gang: PodGang, counts: Counts, features: Features) -> Iterator[str]:
    spec = gang.spec
    yield from unmet_preferences(gang)
    if spec.reuse_reservation_ref is not None:
        yield "spec.reuseReservationRef: kube-scheduler keeps no reservations; it is not considered"
    if spec.priority_class_name and not features.priority:
        yield (
            f"spec.priorityClassName={spec.priority_class_name}: counts for each pod by itself;"
            " for the gang it needs Kubernetes 1.36 with the feature gate WorkloadAwarePreemption,"
            " or 1.37"
        )
    if counts.outside:
        yield (
            f"{counts.outside} pods were made before this form of the gang and are not part of it;"
            " delete them for the gang to be whole again"
        )


def controller_ref(gang: PodGang) -> JsonObject:
    """Whom a Workload is about; for people and tools, the owner reference is what counts."""
    return {"apiGroup": names.SCHEDULER_GROUP, "kind": gang.KIND, "name": gang.metadata.name}


def manifest(resource: Resource, gang: PodGang, name: str, spec: JsonObject) -> JsonObject:
    """An object of a gang."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": gang.metadata.namespace},
        "spec": spec,
    }
