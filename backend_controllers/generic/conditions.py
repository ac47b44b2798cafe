"""Conditions as they are applied; each has the time at which its status last changed.

They are plain values, since a backend reports on thousands of gangs: they are compared with the
conditions that are there without building models.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

import msgspec
from pydantic import JsonValue

from shared_api.models import JsonObject
from shared_api.truncation import without_middle

MESSAGE_LIMIT = 1024


class PreviousCondition(Protocol):
    """What is read of a condition that is there; a gang has its time as text, a record as a time."""

    @property
    def type(self) -> str: ...  # noqa: D102
    @property
    def status(self) -> str: ...  # noqa: D102
    @property
    def last_transition_time(self) -> str | datetime: ...  # noqa: D102


E = TypeVar("E", bound=PreviousCondition)


class ReportedCondition(msgspec.Struct, frozen=True, gc=False):
    """A condition that is to be written."""

    kind: str
    holds: bool
    reason: str
    message: str = ""
    generation: int | None = None

    @property
    def status(self) -> str:
        """The status as the API spells it."""
        return "True" if self.holds else "False"

    def manifest(self, now: str, previous: PreviousCondition | None) -> JsonObject:
        """The condition; it keeps the time of the previous one while the status is the same."""
        changed: str | datetime = now
        if previous is not None and previous.status == self.status:
            changed = previous.last_transition_time
        condition: JsonObject = {
            "type": self.kind,
            "status": self.status,
            "reason": self.reason,
            "message": without_middle(self.message, MESSAGE_LIMIT),
            "lastTransitionTime": changed if isinstance(changed, str) else moment(changed),
        }
        if self.generation is not None:
            condition["observedGeneration"] = self.generation
        return condition


def by_type(conditions: Sequence[E]) -> Mapping[str, E]:
    """Conditions by their type."""
    return {condition.type: condition for condition in conditions}


def rendered(
    conditions: Iterable[ReportedCondition],
    previous: Mapping[str, PreviousCondition],
    now: datetime,
) -> list[JsonValue]:
    """The list as it is applied, sorted by type."""
    ordered = sorted(conditions, key=lambda one: one.kind)
    written = moment(now)
    return [one.manifest(written, previous.get(one.kind)) for one in ordered]


def moment(time: datetime) -> str:
    """A time as the API writes it, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
