"""When a container that ended is started again. Pure.

The shape is the kubelet's (doubling, capped, forgotten after a good run), the numbers are
smaller: on a laptop a user waits for the next attempt.
"""

FIRST, LIMIT, FORGET_AFTER = 1.0, 30.0, 600.0


def next_delay(previous: float, ran_for: float) -> float:
    """Seconds to wait before the next start, given the last delay (0: none) and run time."""
    if previous <= 0 or ran_for >= FORGET_AFTER:
        return FIRST
    return min(previous * 2, LIMIT)


def restarts(policy: str, exit_code: int) -> bool:
    """Whether a restart policy starts a container again after this exit code."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)
