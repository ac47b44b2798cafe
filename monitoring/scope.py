"""Which series are ours, and which of two replicas to believe.

Names of the runtime's metrics are controller-runtime's, so other operators have them too: every
expression is bound to our jobs. A standby fills its caches and keeps what it counted while it
led, so what is counted about gangs is taken from the process that leads. A process without
election has no such series, and is believed.
"""

JOBS = 'job=~"(.*/)?(core-operator|backend-.+|all-in-one)"'
"""The jobs of our processes, as ServiceMonitor and PodMonitor name them."""

LEADS = "leader_election_master_status"
CORE_LEASE = 'name=~".*/core-operator"'
BACKEND_LEASE = 'name=~".*/backend-.+"'


def ours(metric: str, *matchers: str) -> str:
    """A selector of our own series."""
    return f"{metric}{{{','.join((JOBS, *matchers))}}}"


def of_leader(expression: str) -> str:
    """The expression without the series of processes that stand by."""
    return f"({expression} unless on (job, instance) ({ours(LEADS)} == 0))"


def total(by: str, expression: str) -> str:
    """The sum by some labels; over everything where none is named."""
    return f"sum by ({by}) ({expression})" if by else f"sum({expression})"


def quantile(share: float, metric: str, over: str, by: str = "", *matchers: str) -> str:
    """A quantile of a histogram over a time."""
    labels = f"le, {by}" if by else "le"
    rate = f"rate({ours(f'{metric}_bucket', *matchers)}[{over}])"
    return f"histogram_quantile({share:g}, {total(labels, rate)})"
