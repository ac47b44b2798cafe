"""Remembers the server's answers to the manifests that were applied last.

An object that still has the version of the answer does not need the same manifest again. At a later
version, our fields are compared with the manifest and with our fields in the answer. These two
differ if the server rewrites a value that it stores, such as a quantity.
"""

from collections import OrderedDict

import msgspec

from shared_api.kube.codec import PartialObject
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.watching.predicates import Watched

_REMEMBERED = 20_000
_SUBRESOURCES = ("", "status")


class _Answer(msgspec.Struct, frozen=True, gc=False):
    wanted: bytes
    version: str
    live: bytes | None
    """The fingerprint of the fields that we own in the answer."""


class LastApplied:
    """The last answers to one field manager, by UID and subresource."""

    def __init__(self, manager: str) -> None:
        self.into = applied(PartialObject, manager)
        """The type to decode answers into."""
        self._manager = manager
        self._answers: OrderedDict[tuple[str, str], _Answer] = OrderedDict()

    def is_unchanged(self, observed: Watched, wanted: bytes, subresource: str) -> bool:
        """Tell whether applying the manifest with this fingerprint would change nothing."""
        metadata = observed.metadata
        answer = self._answers.get((metadata.uid or "", subresource))
        is_same = answer is not None and answer.wanted == wanted
        if answer is not None and answer.version == metadata.resource_version:
            return is_same
        if not isinstance(observed, Applied):
            return False
        live = observed.fingerprint(self._manager, subresource)
        return live == wanted or (is_same and answer is not None and live == answer.live)

    def remember(self, answer: Applied[PartialObject], wanted: bytes, subresource: str) -> None:
        """Keep the answer to the manifest with this fingerprint."""
        metadata = answer.metadata
        key = (metadata.uid or "", subresource)
        self._answers.pop(key, None)
        live = answer.fingerprint(self._manager, subresource)
        self._answers[key] = _Answer(wanted, metadata.resource_version or "", live)
        if len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)

    def forget(self, uid: str) -> None:
        """Drop the answers about an object that is gone."""
        for subresource in _SUBRESOURCES:
            self._answers.pop((uid, subresource), None)
