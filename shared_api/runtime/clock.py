"""The clocks of the runtime, as a value that is passed to the code that needs time.

No other module of the runtime may read the system's clocks. Durations come from clocks that never
step. Wall time is for readers and for fields of API objects, never for a decision. Tests pass a
clock of their own.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def awake_or_asleep() -> float:
    """Return a count of seconds that includes suspension, where the system counts it."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def utc_now() -> datetime:
    """Return the wall clock time in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - this is the clock that is injected elsewhere


@dataclass(frozen=True, slots=True)
class Clock:
    """The clocks that a part of the runtime reads."""

    monotonic: Callable[[], float] = time.monotonic
    """For delays and durations; the same clock as the event loop's timers."""
    elapsed: Callable[[], float] = awake_or_asleep
    """For deadlines that other processes rely on: a suspended leader must notice the end of its
    Lease."""
    utc: Callable[[], datetime] = utc_now


SYSTEM = Clock()


def micro_time(moment: datetime) -> str:
    """Return a `MicroTime` of the API: UTC, six digits, a literal Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
