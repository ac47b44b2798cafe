"""From recorded writes to writes that another cluster accepts, in an order that it accepts.

UIDs are the server's, so every UID that a body names is a gap to be filled with the UID of
the same object on the new cluster; the write waits for the one that creates that object.
Writes to one object keep their order. Versions are left out, but for the one that means
"create only". Pure: sending is `replayer`'s business.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from shared_api.runtime.apply import CREATE_ONLY

_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LIFTS_GATE = "/spec/schedulingGates/"


class Recorded(msgspec.Struct, frozen=True):
    """One accepted write of the operator."""

    number: int
    method: str
    target: str
    content_type: str
    body: str
    uid: str
    """Of the object, as the server answered."""


@dataclass(frozen=True, slots=True)
class Step:
    """One write to be sent."""

    method: str
    target: str
    content_type: str
    pieces: tuple[str, ...]
    """Text and UIDs in turns, text first and last."""
    uid: str
    """What the object's UID was when it was recorded."""
    waits_for: frozenset[int]
    """The steps that must be done before."""

    def body(self, uids: Mapping[str, str]) -> bytes:
        """The body, with the UIDs that objects have now."""
        text = list(self.pieces)
        text[1::2] = [uids.get(uid, uid) for uid in text[1::2]]
        return "".join(text).encode()


def until_released(recorded: Sequence[Recorded]) -> list[Recorded]:
    """What was sent until the last gate was, in the order in which it was sent."""
    ordered = sorted(recorded, key=lambda write: write.number)
    last = max(index for index, write in enumerate(ordered) if _LIFTS_GATE in write.body)
    return ordered[: last + 1]


def plan(recorded: Sequence[Recorded], known: frozenset[str]) -> list[Step]:
    """Turn writes into steps; `known` are the UIDs of objects that others create."""
    steps: list[Step] = []
    creators: dict[str, int] = {}
    latest: dict[str, int] = {}
    for index, write in enumerate(recorded):
        body = _unversioned(write.body)
        named = [uid for uid in _UID.findall(body) if uid in creators or uid in known]
        before = {creators[uid] for uid in named if uid in creators}
        if write.uid in latest:
            before.add(latest[write.uid])
        pieces = _pieces(body, frozenset(named))
        steps.append(
            Step(
                write.method,
                write.target,
                write.content_type,
                pieces,
                write.uid,
                frozenset(before),
            )
        )
        latest[write.uid] = index
        creators.setdefault(write.uid, index)
    return steps


def _pieces(body: str, gaps: frozenset[str]) -> tuple[str, ...]:
    if not gaps:
        return (body,)
    return tuple(re.split(f"({'|'.join(sorted(gaps))})", body))


def _unversioned(text: str) -> str:
    """The body without the version that its object had on the old cluster."""
    body: Any = json.loads(text)
    metadata = body.get("metadata", {}) if isinstance(body, dict) else {}
    if metadata.get("resourceVersion", CREATE_ONLY) == CREATE_ONLY:
        return text
    del metadata["resourceVersion"]
    return json.dumps(body, separators=(",", ":"))
