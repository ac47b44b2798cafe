"""Selectors: only series of the product, and only those of the leader.

The runtime has the metric names of controller-runtime, which other operators have too. So every
expression selects our jobs. A standby also fills its caches and keeps its counters, so counts of
gangs come from the leader. A process without leader election has no leader series and is counted.
"""

JOBS = 'job=~"(.*/)?(core-operator|backend-.+|all-in-one)"'
"""The jobs of our processes, with the names of ServiceMonitor and PodMonitor."""

LEADS = "leader_election_master_status"
CORE_LEASE = 'name=~".*/core-operator"'
BACKEND_LEASE = 'name=~".*/backend-.+"'


def ours(metric: str, *matchers: str) -> str:
    """Return a selector of our series."""
    return f"{metric}{{{','.join((JOBS, *matchers))}}}"


def of_leader(expression: str) -> str:
    """Return the expression without the series of standbys."""
    return f"({expression} unless on (job, instance) ({ours(LEADS)} == 0))"


def total(by: str, expression: str) -> str:
    """Return the sum by the labels, or over everything if `by` is empty."""
    return f"sum by ({by}) ({expression})" if by else f"sum({expression})"


def quantile(share: float, metric: str, over: str, by: str = "", *matchers: str) -> str:
    """Return a quantile of a histogram over a window."""
    labels = f"le, {by}" if by else "le"
    rate = f"rate({ours(f'{metric}_bucket', *matchers)}[{over}])"
    return f"histogram_quantile({share:g}, {total(labels, rate)})"
