"""The metadata that every projection carries, kept small.

Ten thousand pods repeat the same namespaces, labels and owners. Whoever keeps an object calls
`share_with` first: what has not changed is taken over from the object that is replaced, and
the rest is interned, so equal text is stored once and freed with its last user. Strings that
are unique by nature (name, UID, resource version) are left alone, since interning them would
cost memory. `managedFields` and the annotation in which kubectl keeps a second copy of the
object are dropped.
"""

import functools
from collections.abc import Hashable, Mapping
from sys import intern
from typing import NamedTuple

import msgspec
from msgspec.structs import force_setattr

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


# What recurs does so soon; the rest is of objects that are gone, and is kept in vain.
@functools.lru_cache(maxsize=2048)
def share(value: Hashable) -> Hashable:
    """An equal value that is already in memory, if one was used lately."""
    return value


class ObjectKey(NamedTuple):
    """Namespace and name; the namespace of a cluster-scoped object is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Whom an object belongs to."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What controllers read of `metadata`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None

    def share_with(self, held: "Metadata | None") -> None:
        """Keep once what is kept twice, before anybody else sees this object.

        Comparing with what is held is cheaper than hashing, and most changes change little.
        """
        if held is not None and self.labels == held.labels:
            force_setattr(self, "labels", held.labels)
        elif self.labels:
            texts = map(intern, self.labels), map(intern, self.labels.values())
            force_setattr(self, "labels", dict(zip(*texts, strict=True)))
        if held is not None and self.owner_references == held.owner_references:
            force_setattr(self, "owner_references", held.owner_references)
        elif self.owner_references:
            force_setattr(self, "owner_references", share(self.owner_references))
        force_setattr(self, "namespace", intern(self.namespace))
        if _LAST_APPLIED in self.annotations:
            annotations = {
                key: value for key, value in self.annotations.items() if key != _LAST_APPLIED
            }
            force_setattr(self, "annotations", annotations)

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def is_terminating(self) -> bool:
        """Tell whether the object is being deleted."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object, if any."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None
