"""What the server made of our manifests, so that the same is not sent again.

An object that is still at the version which the server answered to a manifest needs that
manifest no more. When it has moved on, what we own of it is compared with what we want, and
with what we owned in the answer: they differ if the server rewrites what it stores. Cutting
that out of every answer would be in vain for most kinds, which are stored as they are sent.
So only the first answers of a kind are looked at, and all answers of a kind of which one was
rewritten, also when that is noticed later, by a write that changed nothing.
"""

from collections import OrderedDict

import msgspec

from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import Resource
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.watching.predicates import Watched

_REMEMBERED = 20_000
_LOOKED_AT = 8
"""So many answers in a row must be as sent before a kind is believed."""

_APPLIED_TO = ("", "status")

Kind = tuple[Resource, str]
"""A resource, and the subresource to which is written."""


class _Answer(msgspec.Struct, frozen=True, gc=False):
    wanted: bytes
    version: str
    live: bytes | None
    """What we own of the object; what we wanted, where nobody has looked."""


class Answers:
    """The answers to one field manager, by UID and subresource."""

    def __init__(self, manager: str) -> None:
        self._manager = manager
        self._looked_at = applied(PartialObject, manager)
        self._held: OrderedDict[tuple[str, str], _Answer] = OrderedDict()
        # How many answers of a kind were as sent; below zero if one was not.
        self._as_sent: dict[Kind, int] = {}

    def into(self, kind: Kind) -> type[Applied[PartialObject]] | type[PartialObject]:
        """What to decode an answer into."""
        believed = self._as_sent.get(kind, 0) >= _LOOKED_AT
        return PartialObject if believed else self._looked_at

    def is_unchanged(self, observed: Watched, wanted: bytes, subresource: str) -> bool:
        """Tell whether an object is as it should be."""
        metadata = observed.metadata
        answer = self._held.get((metadata.uid or "", subresource))
        is_same = answer is not None and answer.wanted == wanted
        if answer is not None and answer.version == metadata.resource_version:
            return is_same
        if not isinstance(observed, Applied):
            return False
        live = observed.fingerprint(self._manager, subresource)
        return live == wanted or (is_same and answer is not None and live == answer.live)

    def remember(
        self, kind: Kind, answer: Watched, wanted: bytes, observed: Watched | None = None
    ) -> None:
        """Keep an answer; `observed` is the object as it was known when the manifest was sent."""
        _, subresource = kind
        uid, version = answer.metadata.uid or "", answer.metadata.resource_version or ""
        # A write that left the version alone tells of the observed object.
        same = isinstance(observed, Applied) and observed.metadata.resource_version == version
        seen = answer if isinstance(answer, Applied) else observed if same else None
        live: bytes | None = wanted
        if isinstance(seen, Applied):
            live = seen.fingerprint(self._manager, subresource)
            self._judge(kind, as_sent=live == wanted)
        self._held.pop((uid, subresource), None)
        self._held[uid, subresource] = _Answer(wanted, version, live)
        if len(self._held) > _REMEMBERED:
            self._held.popitem(last=False)

    def forget(self, uid: str) -> None:
        """An object is gone."""
        for subresource in _APPLIED_TO:
            self._held.pop((uid, subresource), None)

    def _judge(self, kind: Kind, *, as_sent: bool) -> None:
        count = self._as_sent.get(kind, 0)
        self._as_sent[kind] = count + 1 if as_sent and count >= 0 else -1
