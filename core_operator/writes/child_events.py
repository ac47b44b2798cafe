"""Events about what was created and deleted, with the reasons that Grove gives.

Grove records one for each object at every reconcile. Here it is one for each kind and only when
something was created or deleted, so that a set of thousands of objects does not flood its namespace.
"""

from collections import defaultdict

from core_operator.context import CoreContext
from shared_api.models import KubeObject, PodClique, PodCliqueScalingGroup, PodGang

EVENT_PODS_CREATED = "PodCreateSuccessful"
EVENT_PODCLIQUES_CREATED = "PodCliqueCreateSuccessful"
EVENT_PODCLIQUES_DELETED = "PodCliqueDeleteSuccessful"
EVENT_GROUPS_CREATED = "PodCliqueScalingGroupCreateSuccessful"
EVENT_GROUPS_DELETED = "PodCliqueScalingGroupDeleteSuccessful"
EVENT_GANGS_CREATED = "PodGangCreateOrUpdateSuccessful"
EVENT_GANGS_DELETED = "PodGangDeleteSuccessful"

_CREATED = {
    "Pod": EVENT_PODS_CREATED,
    PodClique.KIND: EVENT_PODCLIQUES_CREATED,
    PodCliqueScalingGroup.KIND: EVENT_GROUPS_CREATED,
    PodGang.KIND: EVENT_GANGS_CREATED,
}
_DELETED = {
    PodClique.KIND: EVENT_PODCLIQUES_DELETED,
    PodCliqueScalingGroup.KIND: EVENT_GROUPS_DELETED,
    PodGang.KIND: EVENT_GANGS_DELETED,
}
_NAMED = 3


class ChildEvents:
    """What one reconcile created and deleted."""

    def __init__(self) -> None:
        self._created: dict[str, list[str]] = defaultdict(list)
        self._deleted: dict[str, list[str]] = defaultdict(list)

    def created(self, child: str) -> None:
        """Note that an object was created, by its kind and name."""
        kind, _, name = child.partition(" ")
        self._created[kind].append(name)

    def deleted(self, child: str) -> None:
        """Note that an object was deleted, by its kind and name."""
        kind, _, name = child.partition(" ")
        self._deleted[kind].append(name)

    def record(self, context: CoreContext, about: KubeObject) -> None:
        """Record the Events about the owner; kinds for which Grove has no reason are left out."""
        for verb, reasons, noted in (
            ("Created", _CREATED, self._created),
            ("Deleted", _DELETED, self._deleted),
        ):
            for kind, found in noted.items():
                if kind in reasons:
                    context.record_event(about, reasons[kind], f"{verb} {_listed(kind, found)}")


def _listed(kind: str, found: list[str]) -> str:
    shown = ", ".join(found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{kind}{'s' if len(found) > 1 else ''} {shown}{more}"
