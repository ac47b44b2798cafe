"""Conditions with their transition times, and the three that kstatus, Flux and Argo CD read.

Ready means that the object works. Reconciling means that it is not complete yet, Stalled that
manual action is required. At most one of these two exists, and only while it is true.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from shared_api import names
from shared_api.models import Condition
from shared_api.truncation import without_middle

_MESSAGE_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class Observation:
    """The time, the generation and the previous conditions of an object."""

    now: datetime
    previous: Sequence[Condition]
    generation: int | None = None
    """None for objects whose generation changes without affecting their conditions."""

    def condition(
        self, kind: str, *, holds: bool | None, reason: str, message: str = ""
    ) -> Condition:
        """Return a condition; `holds` is None if its status is Unknown."""
        status: Literal["True", "False", "Unknown"] = "Unknown"
        if holds is not None:
            status = "True" if holds else "False"
        before = find(self.previous, kind)
        if before is not None and _content(before) == (status, reason, message, self.generation):
            # Mostly nothing changed, and validating an equal condition again costs most.
            return before
        condition = Condition(
            type=kind,
            status=status,
            reason=reason,
            message=without_middle(message, _MESSAGE_LIMIT),
            last_transition_time=self.now.replace(microsecond=0),
            **({} if self.generation is None else {"observed_generation": self.generation}),
        )
        return condition.after(before)


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether an object is ready, the message, and what keeps it from being complete."""

    ready: bool
    message: str
    blocker: Blocker | None = None
    """An object may be ready without being complete."""
    reason: str = names.CONDITION_READY
    """The reason of Ready, if the object is ready."""

    def conditions(self, observation: Observation) -> tuple[Condition, ...]:
        """Return Ready, and Reconciling or Stalled if something is missing."""
        blocker = self.blocker
        if blocker is None and not self.ready:
            blocker = Blocker(BlockingReason.PROGRESSING, self.message)
        ready = observation.condition(
            names.CONDITION_READY,
            holds=self.ready,
            reason=self.reason if self.ready or blocker is None else blocker.reason,
            message=self.message,
        )
        if blocker is None:
            return (ready,)
        kind = names.CONDITION_STALLED if blocker.stalled else names.CONDITION_RECONCILING
        second = observation.condition(
            kind, holds=True, reason=blocker.reason, message=blocker.message
        )
        return (ready, second)


def _content(condition: Condition) -> tuple[str, str, str, int | None]:
    return condition.status, condition.reason, condition.message, condition.observed_generation


def find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """Return the condition of this type, if there is one."""
    return next((condition for condition in conditions if condition.type == kind), None)


def rendered(conditions: Sequence[Condition]) -> list[JsonValue]:
    """Return the list as it is applied, ordered by type."""
    return [condition.manifest() for condition in sorted(conditions, key=lambda c: c.type)]
