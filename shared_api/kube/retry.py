"""Decides which failed requests are sent again, when, and for how long.

Throttled and failed requests are sent again after growing pauses with jitter, or after the time in
Retry-After, until the deadline of the operation. A request that is not repeatable (a create, a
JSON patch) is sent again only if the server cannot have processed it. The first attempt runs
outside tenacity, because nearly every request succeeds at once (docs/performance.md). Which waits
use tenacity and which do not is in decision 14.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from shared_api.kube.errors import (
    BadResponse,
    ConnectionLost,
    KubeError,
    ServerError,
    Timeout,
    TooManyRequests,
)

T = TypeVar("T")

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Pauses and limits of one operation."""

    total: float = 30.0
    """Seconds after which no further attempt is begun."""
    attempts: int = 6
    first_pause: float = 0.1
    longest_pause: float = 5.0
    sleep: Sleep = asyncio.sleep
    random: Callable[[], float] = random.random

    async def run(self, attempt: Callable[[], Awaitable[T]], *, repeatable: bool) -> T:
        """Attempt until the request succeeds, fails permanently, or the time is over."""
        try:
            return await attempt()
        except KubeError as error:
            if not _may_repeat(error, repeatable=repeatable):
                raise
            return await self._again(attempt, error, repeatable=repeatable)

    async def _again(
        self, attempt: Callable[[], Awaitable[T]], failed: KubeError, *, repeatable: bool
    ) -> T:
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(
                lambda error: _may_repeat(error, repeatable=repeatable)
            ),
            wait=self._pause,
            stop=tenacity.stop_after_attempt(self.attempts)
            | tenacity.stop_before_delay(self.total),
            sleep=self.sleep,
            reraise=True,
        )
        async for turn in retrying:
            with turn:
                # The attempt before this loop counts as the first one.
                if turn.retry_state.attempt_number == 1:
                    raise failed
                return await attempt()
        raise AssertionError("tenacity returned without a result")

    def _pause(self, state: tenacity.RetryCallState) -> float:
        grown = min(self.first_pause * 2.0 ** (state.attempt_number - 1), self.longest_pause)
        asked = None
        if state.outcome is not None:
            asked = getattr(state.outcome.exception(), "retry_after", None)
        # At least half of the pause always passes. The random rest separates clients that failed at
        # the same time.
        return (asked or grown / 2) + self.random() * grown / 2


def _may_repeat(error: BaseException, *, repeatable: bool) -> bool:
    match error:
        case TooManyRequests():
            # An eviction that a disruption budget refuses is 429 as well, but has no Retry-After.
            return error.retry_after is not None
        case ConnectionLost(sent=False):
            return True
        case ServerError(retry_after=float()):
            # The server requests the same request again, so it has not processed it.
            return True
        case ConnectionLost() | Timeout() | ServerError() | BadResponse():
            return repeatable
        case _:
            return False
