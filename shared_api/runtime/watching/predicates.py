"""Predicates: which changes of an object need a reconcile, and with which priority.

They are pure functions of the old and the new value; either may be missing. Status writes of a
controller leave generation and metadata as they are and must not add its key again. Creations,
deletions and changes of labels, annotations and owners do.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from shared_api.kube.codec import MetadataLike
from shared_api.runtime.queueing.lanes import Priority


class OwnedBy(Protocol):
    """The fields of an owner reference that are read."""

    @property
    def api_version(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def uid(self) -> str: ...  # noqa: D102
    @property
    def controller(self) -> bool | None: ...  # noqa: D102


class ObjectMetadata(MetadataLike, Protocol):
    """The metadata that predicates, event handlers and the Applier read."""

    @property
    def generation(self) -> int | None: ...  # noqa: D102
    @property
    def labels(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def annotations(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def owner_references(self) -> Sequence[OwnedBy]: ...  # noqa: D102
    @property
    def finalizers(self) -> Sequence[str]: ...  # noqa: D102


class Watched(Protocol):
    """An object with this metadata."""

    @property
    def metadata(self) -> ObjectMetadata: ...  # noqa: D102


W = TypeVar("W", bound=Watched)
Predicate: TypeAlias = Callable[[W | None, W | None], bool]


def any_change(old: object, new: object) -> bool:
    """Accept every change."""
    del old, new
    return True


def more_than_status(old: Watched | None, new: Watched | None) -> bool:
    """Accept every change but an update of the status alone."""
    if old is None or new is None:
        return True
    before, after = old.metadata, new.metadata
    if not after.generation:
        # Some built-in kinds have no generation: a new spec looks like a new status.
        return True
    return (
        before.uid != after.uid
        or before.generation != after.generation
        or (before.deletion_timestamp is None) != (after.deletion_timestamp is None)
        or before.labels != after.labels
        or before.annotations != after.annotations
        or before.owner_references != after.owner_references
    )


def urgency(old: Watched | None, new: Watched | None) -> Priority:
    """Return USER for a creation, a deletion and a new spec, and EVENT for the rest."""
    if old is None or new is None:
        return Priority.USER
    before, after = old.metadata, new.metadata
    asked = before.generation != after.generation or (
        before.deletion_timestamp is None and after.deletion_timestamp is not None
    )
    return Priority.USER if asked else Priority.EVENT
