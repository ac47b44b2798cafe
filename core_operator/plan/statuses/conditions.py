"""Conditions with their dates, and the three by which generic tools judge an object.

Ready says whether the object does its work. Reconciling and Stalled are kstatus' words for
"not all of it yet" and "not without a person"; they are there only while they are true, which
is how kstatus, Flux and Argo CD read them. At most one of the two is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from core_operator.plan.statuses.reasons import Blocked, Blocking
from shared_api import names
from shared_api.models import Condition
from shared_api.truncation import truncated

_MESSAGE_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class Observation:
    """When an object was looked at, at which generation, and what it said then."""

    now: datetime
    previous: Sequence[Condition]
    generation: int | None = None
    """Left out for objects whose generation moves without their conditions being concluded anew."""

    def condition(
        self, kind: str, *, holds: bool | None, reason: str, message: str = ""
    ) -> Condition:
        """One aspect; `holds` is None where it cannot be known."""
        status: Literal["True", "False", "Unknown"] = "Unknown"
        if holds is not None:
            status = "True" if holds else "False"
        said = find(self.previous, kind)
        if said is not None and _content(said) == (status, reason, message, self.generation):
            # Most often nothing is new, and checking what was checked before costs most.
            return said
        condition = Condition(
            type=kind,
            status=status,
            reason=reason,
            message=truncated(message, _MESSAGE_LIMIT),
            last_transition_time=self.now.replace(microsecond=0),
            **({} if self.generation is None else {"observed_generation": self.generation}),
        )
        return condition.after(said)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an object works, how that is told, and what keeps it from being complete."""

    ready: bool
    message: str
    blocked: Blocked | None = None
    """What is missing; an object may be ready without being complete."""

    def conditions(self, observation: Observation) -> tuple[Condition, ...]:
        """Ready, and what kstatus wants to know beside it."""
        blocked = self.blocked
        if blocked is None and not self.ready:
            blocked = Blocked(Blocking.PROGRESSING, self.message)
        ready = observation.condition(
            names.CONDITION_READY,
            holds=self.ready,
            reason=names.CONDITION_READY if self.ready or blocked is None else blocked.reason,
            message=self.message,
        )
        if blocked is None:
            return (ready,)
        kind = names.CONDITION_STALLED if blocked.stalled else names.CONDITION_RECONCILING
        beside = observation.condition(
            kind, holds=True, reason=blocked.reason, message=blocked.message
        )
        return (ready, beside)


def _content(condition: Condition) -> tuple[str, str, str, int | None]:
    return condition.status, condition.reason, condition.message, condition.observed_generation


def find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """The condition of this type, if there is one."""
    return next((condition for condition in conditions if condition.type == kind), None)


def rendered(conditions: Sequence[Condition]) -> list[JsonValue]:
    """The list as it is applied, in an order that does not depend on who built it."""
    return [condition.manifest() for condition in sorted(conditions, key=lambda c: c.type)]
