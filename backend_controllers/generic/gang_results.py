"""The result of translating each gang and of writing its objects, by the UID of the gang.

The gang controller posts results, the status controller reads them; neither waits for the other.
Results are derived from the cluster: a process that has just started computes them again.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import structs

from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang, ObservedPodGangSpec
from shared_api.models import PodPreparation
from shared_api.runtime.watching.channel import Channel


class GangStage(StrEnum):
    """How far a gang is on its way to its scheduler; the values are reasons of conditions."""

    UNSUPPORTED = names.REASON_UNSUPPORTED
    UNREADABLE = names.REASON_UNREADABLE
    """An object that the translation needs cannot be read."""
    CONFLICT = names.REASON_CONFLICT
    REJECTED = names.REASON_REJECTED
    """The API server rejects the object."""
    FAILED = "WriteFailed"
    """The API server cannot store the object for now, such as while a webhook is down."""
    REPLACING = "Replacing"
    """An object that cannot be changed is being deleted; another gets its name afterwards."""
    AWAITING = "Awaiting"
    """The objects are written after an event, such as the ungating of all pods."""
    ENDED = "Ended"
    """The jobs of the gang have ended, and the scheduler's objects are deleted."""
    NO_CAPACITY = "NoCapacity"
    """The far side does not have the resources of the gang at present."""
    PROGRAMMED = names.CONDITION_PROGRAMMED
    OUTDATED = "OutdatedObjectKept"
    """The scheduler works with an older object, since the server does not let it be changed."""


_DONE = frozenset({GangStage.PROGRAMMED, GangStage.OUTDATED})
_REFUSED = frozenset({GangStage.UNSUPPORTED, GangStage.UNREADABLE})


@dataclass(frozen=True, slots=True)
class GangResult:
    """What came of one gang."""

    stage: GangStage
    message: str = ""
    generation: int = 0
    refusals: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    preparations: tuple[PodPreparation, ...] = ()
    gang: ObservedPodGang | None = field(default=None, compare=False)
    """The gang as it was translated."""

    @property
    def is_accepted(self) -> bool:
        """Tell whether the scheduler can do what the gang asks for."""
        return self.stage not in _REFUSED

    @property
    def is_done(self) -> bool:
        """Tell whether the scheduler has the objects of the gang."""
        return self.stage in _DONE

    def covers(self, gang: ObservedPodGang) -> bool:
        """Tell whether the gang differs from the translated one only in references to members.

        Core creates a PodGang without pods and adds the references later, so every gang passes here.
        A pod above the minimum does not count: a translator may have a remark about it.
        """
        if self.stage is not GangStage.PROGRAMMED or self.gang is None:
            return False
        before, after = self.gang.metadata, gang.metadata
        return (
            before.uid == after.uid
            and before.labels == after.labels
            and before.annotations == after.annotations
            and before.deletion_timestamp == after.deletion_timestamp
            and all(
                len(group.pod_references) <= group.min_replicas for group in gang.spec.podgroups
            )
            and _without_references(self.gang.spec) == _without_references(gang.spec)
        )


class GangResults:
    """The latest result of each gang."""

    def __init__(self) -> None:
        self._results: dict[str, GangResult] = {}
        self.changed: Channel[ObservedPodGang] = Channel("gang results")

    def get(self, uid: str) -> GangResult | None:
        """Return the result of a gang; None before it was translated."""
        return self._results.get(uid)

    def post(self, gang: ObservedPodGang, result: GangResult) -> None:
        """Set the result of a gang."""
        before = self._results.get(gang.metadata.uid)
        self._results[gang.metadata.uid] = result
        if before != result:
            self.changed.send(gang)

    def forget(self, uid: str) -> None:
        """Drop the result of a gang that is gone."""
        self._results.pop(uid, None)


def _without_references(spec: ObservedPodGangSpec) -> ObservedPodGangSpec:
    groups = (structs.replace(group, pod_references=()) for group in spec.podgroups)
    return structs.replace(spec, podgroups=tuple(groups))
