"""The arguments and results of the Applier: the target, the owner, and the outcome of a write."""

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
    """The outcome of a write."""

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
    """A kind of object that a controller writes, and the cache of its objects."""

    resource: Resource
    cache: Cache[W]
    unchanged: Callable[[W, Mapping[str, object]], bool] | None = None


@dataclass(frozen=True, slots=True)
class Behalf:
    """The key whose reconcile writes, and the owner of the written objects."""

    key: ObjectKey
    owner: Owner | None = None
    """Without an owner, no write is forced and no object is pruned."""
    force: bool = False
    """Force the apply also without a controller: for fields that belong to us by contract, even if
    another manager wrote them before."""


def controlled_by(resource: Resource, owner: Watched) -> dict[str, object]:
    """Return the owner reference with which an object is deleted together with its owner."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
