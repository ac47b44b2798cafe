"""From recorded writes to writes that another cluster accepts, in an order that it accepts.

UIDs are the server's, so every UID that a write names, in its body or in the name of its
object, is a gap to be filled with the UID of the same object on the new cluster. A write waits
for those that create the objects which it names, by UID or by a name that has one in it, as
the objects for a scheduler have. Writes to one object keep their order across processes.
Resource versions are left out, except the one that means "create only". Pure: `replayer` sends the
writes.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from shared_api.runtime.applying.applier import CREATE_ONLY

_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME = re.compile(rf"[a-z0-9.-]*{_UID.pattern}")
_LIFTS_GATE = "/spec/schedulingGates/"
_OF_EVENT = "/events/"

Pieces: TypeAlias = tuple[str, ...]
"""Text and UIDs in turns, text first and last."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One accepted write."""

    number: int
    """When it was sent, in nanoseconds of the clock that all processes of a machine share."""
    method: str
    target: str
    content_type: str
    body: str
    uid: str
    """Of the object, as the server answered."""


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One write to be sent."""

    method: str
    target_pieces: Pieces
    content_type: str
    body_pieces: Pieces
    uid: str
    """What the object's UID was when it was recorded."""
    waits_for: frozenset[int]
    """The steps that must be done before."""

    def target(self, uids: Mapping[str, str]) -> str:
        """The path, with the UIDs that objects have now."""
        return _filled(self.target_pieces, uids)

    def body(self, uids: Mapping[str, str]) -> bytes:
        """The body, with the UIDs that objects have now."""
        return _filled(self.body_pieces, uids).encode()


def between(recorded: Sequence[Recorded], began: int, ended: int | None = None) -> list[Recorded]:
    """What was sent in this time, or until the last pod was ungated, in the recorded order.

    Without what was added to Events of before, which are about other sets.
    """
    ordered = sorted(recorded, key=lambda write: write.number)
    if ended is None:
        ended = max(write.number for write in ordered if _LIFTS_GATE in write.body)
    found = [write for write in ordered if began <= write.number <= ended]
    made = {write.uid for write in found if write.method == "POST"}
    return [write for write in found if _OF_EVENT not in write.target or write.uid in made]


def plan(recorded: Sequence[Recorded], known: frozenset[str]) -> list[ReplayStep]:
    """Turn writes into steps; `known` are the UIDs of objects that others create."""
    planner = _Planner(known)
    return [planner.step(index, write) for index, write in enumerate(recorded)]


class _Planner:
    """Knows which step creates what."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self._creators: dict[str, int] = {}
        self._by_name: dict[str, dict[str, int]] = {}
        self._latest: dict[str, int] = {}

    def step(self, index: int, write: Recorded) -> ReplayStep:
        """The next step."""
        body = _unversioned(write.body)
        text = f"{write.target} {body}"
        uids = {uid for uid in _UID.findall(text) if uid in self._creators or uid in self._known}
        before = {self._creators[uid] for uid in uids if uid in self._creators}
        for name in _NAME.findall(text):
            before.update(self._by_name.get(name, {}).values())
        if write.uid in self._latest:
            before.add(self._latest[write.uid])
        self._note(index, write)
        return ReplayStep(
            write.method,
            _pieces(write.target, uids),
            write.content_type,
            _pieces(body, uids),
            write.uid,
            frozenset(before),
        )

    def _note(self, index: int, write: Recorded) -> None:
        self._latest[write.uid] = index
        self._creators.setdefault(write.uid, index)
        # One name may be that of several objects, each of its own kind.
        for name in _NAME.findall(write.target):
            self._by_name.setdefault(name, {}).setdefault(write.uid, index)


def _pieces(text: str, gaps: Collection[str]) -> Pieces:
    if not gaps:
        return (text,)
    return tuple(re.split(f"({'|'.join(sorted(gaps))})", text))


def _filled(pieces: Pieces, uids: Mapping[str, str]) -> str:
    text = list(pieces)
    text[1::2] = [uids.get(uid, uid) for uid in text[1::2]]
    return "".join(text)


def _unversioned(text: str) -> str:
    """The body without the version that its object had on the old cluster."""
    body: Any = json.loads(text) if text else None
    metadata = body.get("metadata", {}) if isinstance(body, dict) else {}
    if metadata.get("resourceVersion", CREATE_ONLY) == CREATE_ONLY:
        return text
    del metadata["resourceVersion"]
    return json.dumps(body, separators=(",", ":"))
