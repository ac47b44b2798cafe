"""Conditions as they are applied, dated from when their status last changed.

Plain values, since a backend tells of thousands of gangs: what is compared with what was said
before is compared without building models, and only what is sent is built.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from pydantic import JsonValue

from shared_api.models import Condition, JsonObject

MESSAGE_LIMIT = 1024


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

    def manifest(self, now: datetime, previous: Condition | None) -> JsonObject:
        """The condition; its date is the previous one's if the status is."""
        changed = now
        if previous is not None and previous.status == self.status:
            changed = previous.last_transition_time
        condition: JsonObject = {
            "type": self.kind,
            "status": self.status,
            "reason": self.reason,
            "message": shortened(self.message),
            "lastTransitionTime": moment(changed),
        }
        if self.generation is not None:
            condition["observedGeneration"] = self.generation
        return condition


def by_kind(conditions: Sequence[Condition]) -> Mapping[str, Condition]:
    """Conditions by their type."""
    return {condition.type: condition for condition in conditions}


def rendered(
    said: Iterable[Said], previous: Mapping[str, Condition], now: datetime
) -> list[JsonValue]:
    """The list as it is applied, in an order that does not depend on who built it."""
    ordered = sorted(said, key=lambda one: one.kind)
    return [one.manifest(now, previous.get(one.kind)) for one in ordered]


# Conditions of many gangs change in the same second.
@functools.lru_cache(maxsize=1024)
def moment(time: datetime) -> str:
    """A time as the API writes it, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shortened(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """The text, or as much of it as a person would read."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
