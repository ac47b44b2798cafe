"""Who controls an object: namespace, API group, kind, name and UID, always all five.

Everybody may write any UID into an owner reference, also that of an object in a namespace that
he has no rights in. So no module compares UIDs alone: it compares an `Owner`, or asks
`owner_in`. An owner reference names no namespace; it means the namespace of the object that
has it, as for the garbage collector.
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

    A struct is made, hashed and compared in C: one is made for every event of a child.
    """

    namespace: str
    group: str
    kind: str
    name: str
    uid: str


def identity(kind: Resource, value: Watched) -> Owner:
    """Return an object as those that it controls name it."""
    metadata = value.metadata
    namespace, uid = metadata.namespace or "", metadata.uid or ""
    return Owner(namespace, kind.group, kind.kind, metadata.name, uid)


def controller_of(value: Watched) -> Owner | None:
    """Return the one owner that manages an object, as the object says."""
    for reference in value.metadata.owner_references:
        if reference.controller:
            return _named(reference, value)
    return None


def refers_to(value: Watched, owner: Owner) -> bool:
    """Tell whether an owner is among those of an object, be it the controller or not."""
    return any(_named(one, value) == owner for one in value.metadata.owner_references)


def by_controller(value: Watched) -> Iterable[Owner]:
    """File an object under its controller; the key of every index of children."""
    owner = controller_of(value)
    return () if owner is None else (owner,)


def owner_in(cache: Cache[W], kind: Resource, value: Watched) -> W | None:
    """Return the controller of an object from the cache of its kind.

    None if the cache has no such object, or one of this UID that is not the one that is named.
    """
    for reference in value.metadata.owner_references:
        if reference.controller:
            found = cache.get_by_uid(reference.uid)
            # By UID first: of most objects the controller is of another kind.
            is_named = found is not None and identity(kind, found) == _named(reference, value)
            return found if is_named else None
    return None


def _named(reference: OwnedBy, value: Watched) -> Owner:
    group = reference.api_version.rpartition("/")[0]
    namespace = value.metadata.namespace or ""
    return Owner(namespace, group, reference.kind, reference.name, reference.uid)
