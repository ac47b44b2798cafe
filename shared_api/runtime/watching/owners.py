"""Which object controls another: namespace, API group, kind, name and UID, always all five.

A user may write any UID into an owner reference, also that of an object in a namespace where the
user has no rights. So no module may compare UIDs alone: it compares an `Owner`, or calls
`owner_in`. An owner reference has no namespace; it means that of the object, as for the garbage
collector.
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from shared_api.kube.resources import Resource
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.predicates import OwnedBy, Watched

W = TypeVar("W", bound=Watched)


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The identity of an object that controls others.

    A msgspec Struct because one is created and hashed for every event of a child.
    """

    namespace: str
    group: str
    kind: str
    name: str
    uid: str


def identity(kind: Resource, value: Watched) -> Owner:
    """Return the identity of an object, as its children refer to it."""
    metadata = value.metadata
    namespace, uid = metadata.namespace or "", metadata.uid or ""
    return Owner(namespace, kind.group, kind.kind, metadata.name, uid)


def controller_of(value: Watched) -> Owner | None:
    """Return the controller owner of an object, according to its owner references."""
    for reference in value.metadata.owner_references:
        if reference.controller:
            return _named(reference, value)
    return None


def refers_to(value: Watched, owner: Owner) -> bool:
    """Tell whether an owner is among those of an object, controller or not."""
    return any(_named(one, value) == owner for one in value.metadata.owner_references)


def by_controller(value: Watched) -> Iterable[Owner]:
    """Return the controller owner, as an indexer of children."""
    owner = controller_of(value)
    return () if owner is None else (owner,)


def owner_in(cache: Cache[W], kind: Resource, value: Watched) -> W | None:
    """Return the controller owner of an object from the cache of its kind.

    None if the cache has no object of this UID, or if it has another name or namespace.
    """
    for reference in value.metadata.owner_references:
        if reference.controller:
            found = cache.get_by_uid(reference.uid)
            # By UID first: most objects have a controller of another kind.
            is_named = found is not None and identity(kind, found) == _named(reference, value)
            return found if is_named else None
    return None


def _named(reference: OwnedBy, value: Watched) -> Owner:
    group = reference.api_version.rpartition("/")[0]
    namespace = value.metadata.namespace or ""
    return Owner(namespace, group, reference.kind, reference.name, reference.uid)
