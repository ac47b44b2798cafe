"""What a gang leaves for its successor when it moves to another backend instance.

A gang moves by being deleted and created again, so that what its backend wrote goes with it. Its
status goes too. So `status.placement` is stored before, as an annotation of the gang's first
PodClique, together with the UID of the gang that leaves. The annotation with that UID also shows
that the move has begun, and lets a new leader finish it. The successor removes it.
"""

from dataclasses import dataclass

from pydantic import ValidationError

from shared_api import names
from shared_api.models import JsonObject, KubeModel, PlacementStatus, PodClique, PodGang


class _Stored(KubeModel):
    gang_uid: str
    placement: PlacementStatus


@dataclass(frozen=True, slots=True)
class Handover:
    """The placement of a gang that leaves its backend."""

    gang_uid: str
    placement: PlacementStatus


def first_clique_of(gang: PodGang) -> str:
    """Return the name of the PodClique that keeps what a gang leaves for its successor."""
    return gang.spec.podgroups[0].name if gang.spec.podgroups else ""


def has_left(gang: PodGang, clique: PodClique | None) -> bool:
    """Tell whether a move of this gang has begun, by its first PodClique."""
    left = handover_in(clique)
    return left is not None and left.gang_uid == gang.metadata.uid


def handover_in(clique: PodClique | None) -> Handover | None:
    """Return what a gang left on its first PodClique; None if there is nothing that can be read."""
    text = (
        clique.metadata.annotations.get(names.ANNOTATION_HANDOVER) if clique is not None else None
    )
    if text is None:
        return None
    try:
        found = _Stored.model_validate_json(text)
    except ValidationError:
        return None
    return Handover(found.gang_uid, found.placement)


def known_placement(gang: PodGang, first_clique: PodClique | None) -> PlacementStatus | None:
    """Return what is known about how a gang came to its backend: its own, or what was left for it."""
    if gang.status is not None and gang.status.placement is not None:
        return gang.status.placement
    left = handover_in(first_clique)
    return left.placement if left is not None and left.gang_uid != gang.metadata.uid else None


def handover_patch(clique: PodClique, handover: Handover | None) -> JsonObject:
    """Return the merge patch that stores or removes a handover."""
    text = None
    if handover is not None:
        stored = _Stored(gang_uid=handover.gang_uid, placement=handover.placement)
        text = stored.model_dump_json(by_alias=True, exclude_unset=True)
    annotations: JsonObject = {names.ANNOTATION_HANDOVER: text}
    return {"metadata": {"uid": clique.metadata.uid, "annotations": annotations}}
