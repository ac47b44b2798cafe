"""Conditions as they are applied, dated from when their status last changed.

Plain values, since a backend tells of thousands of gangs: what is compared with what was said
before is compared without building models, and only what is sent is built.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

import msgspec
from pydantic import JsonValue

from shared_api.models import JsonObject
from shared_api.truncation import truncated

MESSAGE_LIMIT = 1024


class Earlier(Protocol):
    """What is read of a condition that was said before: of a gang as text, of a record as a time."""

    @property
    def type(self) -> str: ...  # noqa: D102
    @property
    def status(self) -> str: ...  # noqa: D102
    @property
    def last_transition_time(self) -> str | datetime: ...  # noqa: D102


E = TypeVar("E", bound=Earlier)


class Said(msgspec.Struct, frozen=True, gc=False):
    """One aspect of an object and what is said about it."""

    kind: str
    holds: bool
    reason: str
    message: str = ""
    generation: int | None = None

    @property
    def status(self) -> str:
        """The word of the API for it."""
        return "True" if self.holds else "False"

    def manifest(self, now: str, previous: Earlier | None) -> JsonObject:
        """The condition; its date is the previous one's if the status is."""
        changed: str | datetime = now
        if previous is not None and previous.status == self.status:
            changed = previous.last_transition_time
        condition: JsonObject = {
            "type": self.kind,
            "status": self.status,
            "reason": self.reason,
            "message": truncated(self.message, MESSAGE_LIMIT),
            "lastTransitionTime": changed if isinstance(changed, str) else moment(changed),
        }
        if self.generation is not None:
            condition["observedGeneration"] = self.generation
        return condition


def by_kind(conditions: Sequence[E]) -> Mapping[str, E]:
    """Conditions by their type."""
    return {condition.type: condition for condition in conditions}


def rendered(
    said: Iterable[Said], previous: Mapping[str, Earlier], now: datetime
) -> list[JsonValue]:
    """The list as it is applied, in an order that does not depend on who built it."""
    ordered = sorted(said, key=lambda one: one.kind)
    written = moment(now)
    return [one.manifest(written, previous.get(one.kind)) for one in ordered]


def moment(time: datetime) -> str:
    """A time as the API writes it, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
