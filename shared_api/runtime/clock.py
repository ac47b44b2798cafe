"""Time, as a value that is handed to whoever needs it.

It is the only reader of the system's clocks in the runtime. Durations come from clocks
that never step; wall time is for people and for fields of API objects, never for a
decision. Tests hand in a clock of their own.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def awake_or_asleep() -> float:
    """Seconds that also pass while the machine is suspended, where the system counts them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def utc_now() -> datetime:
    """The wall clock, always in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - this is the clock that is injected elsewhere


@dataclass(frozen=True, slots=True)
class Clock:
    """What a part of the runtime knows about time."""

    monotonic: Callable[[], float] = time.monotonic
    """For delays and durations; the same clock as the event loop's timers."""
    elapsed: Callable[[], float] = awake_or_asleep
    """For deadlines that others rely on: a suspended holder of a lease must notice."""
    utc: Callable[[], datetime] = utc_now


SYSTEM = Clock()


def micro_time(moment: datetime) -> str:
    """The `MicroTime` of the API: UTC, six digits, a literal Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
