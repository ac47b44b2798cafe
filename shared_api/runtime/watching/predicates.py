"""Which changes of an object are worth a reconcile, and how urgent they are.

Pure functions of the old and the new value, either of which may be missing. A controller
writes the status of its own objects all the time; those updates leave the generation and
the rest of the metadata alone, and must not wake it again. Creations, deletions (also the
announced ones), label and annotation changes do.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from shared_api.runtime.queueing.lanes import Priority


class OwnedBy(Protocol):
    """What is read of an owner reference."""

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


class ObjectMetadata(Protocol):
    """What predicates, sources and apply read of an object's metadata."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def namespace(self) -> str | None: ...  # noqa: D102
    @property
    def uid(self) -> str | None: ...  # noqa: D102
    @property
    def resource_version(self) -> str | None: ...  # noqa: D102
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
    @property
    def deletion_timestamp(self) -> object: ...  # noqa: D102


class Watched(Protocol):
    """An object with enough metadata to judge its changes."""

    @property
    def metadata(self) -> ObjectMetadata: ...  # noqa: D102


W = TypeVar("W", bound=Watched)
Predicate: TypeAlias = Callable[[W | None, W | None], bool]


def any_change(old: object, new: object) -> bool:
    """Every change counts: for objects whose status is somebody else's news."""
    del old, new
    return True


def more_than_status(old: Watched | None, new: Watched | None) -> bool:
    """Everything counts but an update of the status alone."""
    if old is None or new is None:
        return True
    before, after = old.metadata, new.metadata
    if not after.generation:
        # Some built-in kinds have no generation, so that a new spec would look like nothing.
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
    """Tell what somebody asked for from what merely happened."""
    if old is None or new is None:
        return Priority.USER
    before, after = old.metadata, new.metadata
    asked = before.generation != after.generation or (
        before.deletion_timestamp is None and after.deletion_timestamp is not None
    )
    return Priority.USER if asked else Priority.EVENT
