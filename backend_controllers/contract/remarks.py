"""Remarks that several backends make about a gang."""

from collections.abc import Iterator

from backend_controllers.contract.declaration import Facts
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import PRIORITY_CLASSES


def no_reservations(gang: ObservedPodGang, scheduler: str) -> Iterator[str]:
    """Remark that the scheduler cannot reuse the reservation of another gang."""
    if gang.spec.reuse_reservation_ref is not None:
        yield f"spec.reuseReservationRef is ignored: {scheduler} cannot reuse a reservation"


def missing_priority_class(name: str, facts: Facts, scheduler: str) -> Iterator[str]:
    """Remark that the PriorityClass of a gang does not exist. It may be created later."""
    if facts.get(PRIORITY_CLASSES, "", name) is None:
        yield (
            f"PriorityClass '{name}' does not exist: {scheduler} uses its default priority."
            " Create it, or change the priorityClassName of the PodCliqueSet"
        )


def unknown_groups(gang: ObservedPodGang) -> Iterator[str]:
    """Remark on sets of groups that list groups which the gang does not have."""
    known = {group.name for group in gang.spec.podgroups}
    for config in gang.spec.topology_constraint_group_configs:
        unknown = sorted(set(config.pod_group_names) - known)
        if unknown:
            yield f"group set '{config.name}' lists groups that do not exist: {', '.join(unknown)}"
