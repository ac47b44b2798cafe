"""How long news is gathered before it is told, by how much else there is to tell.

The server's time is what a large start waits for: a write that says how far one of hundreds of
things has come makes all of them later. So progress is told after a delay that grows with the
number of those that wait to be told of, and most are done before their turn comes. What people
wait for, such as readiness, a loss or an error, is never held back by this.
"""

# What a busy server brings to its end in about a second.
_A_FEW = 10
_LATEST = 30.0


def patience(delay: float, crowd: int) -> float:
    """Seconds before the progress of one is told while so many are on their way."""
    return min(delay * (1 + crowd / _A_FEW), max(_LATEST, delay))
