"""The words of the apply engine: what is written, for whom, and what came of it."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared_api.kube.errors import Conflict
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.runtime.reconciling.outcome import Retry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import Owner
from shared_api.runtime.watching.predicates import Watched

W = TypeVar("W", bound=Watched)


class Written(enum.Enum):
    """What came of handing an object to the engine."""

    CREATED = "created"
    APPLIED = "applied"
    PATCHED = "patched"
    UNCHANGED = "unchanged"
    DELETED = "deleted"


class NotOurs(Retry):
    """An object of that name exists, and our owner does not control it."""


class OwnershipConflict(Retry):
    """Other managers own fields that we want; `owners` maps each field to its manager."""

    def __init__(self, child: str, conflict: Conflict) -> None:
        self.owners = {
            cause.field: cause.message.removeprefix("conflict with ").strip('"')
            for cause in conflict.details.causes
        }
        listed = ", ".join(f"{field} ({owner})" for field, owner in self.owners.items())
        super().__init__(f"{child}: fields are owned by others: {listed}")


@dataclass(frozen=True, slots=True)
class Target(Generic[W]):
    """A kind of object that a controller writes, and where it sees them."""

    resource: Resource
    cache: Cache[W]
    unchanged: Callable[[W, Mapping[str, object]], bool] | None = None


@dataclass(frozen=True, slots=True)
class Behalf:
    """The reconcile for which something is written, and the owner of what it writes."""

    key: ObjectKey
    owner: Owner | None = None
    """Without one, nothing is forced and nothing is pruned."""
    force: bool = False
    """Win over other managers although nobody controls the object: for fields that are ours alone
    by contract, whoever wrote them before."""


def controlled_by(resource: Resource, owner: Watched) -> dict[str, object]:
    """The owner reference that makes an object go away with its owner."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
