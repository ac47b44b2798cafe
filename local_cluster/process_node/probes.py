"""The bookkeeping of probes: what a row of outcomes means. Pure.

A probe's verdict changes only after `successThreshold` or `failureThreshold` outcomes in a
row. Before that a startup probe has no verdict, a readiness probe has failed and a liveness probe
has succeeded.
"""

from dataclasses import dataclass, replace
from enum import Enum

from local_cluster.api import Object


class ProbeKind(Enum):
    """What a probe decides; the value is its field in a container."""

    STARTUP = "startupProbe"
    LIVENESS = "livenessProbe"
    READINESS = "readinessProbe"


@dataclass(frozen=True, slots=True)
class Timing:
    """A probe's numbers, with the API's defaults."""

    initial_delay: float
    period: float
    timeout: float
    successes: int
    failures: int


@dataclass(frozen=True, slots=True)
class ProbeVerdict:
    """The verdict of a probe, and the outcomes that it is based on."""

    healthy: bool | None
    row: int = 0
    last: bool | None = None


def read_timing(probe: Object) -> Timing:
    """The numbers of a probe."""
    return Timing(
        initial_delay=probe.get("initialDelaySeconds", 0),
        period=probe.get("periodSeconds", 10),
        timeout=probe.get("timeoutSeconds", 1),
        successes=probe.get("successThreshold", 1),
        failures=probe.get("failureThreshold", 3),
    )


def first_verdict(kind: ProbeKind) -> ProbeVerdict:
    """The verdict of a probe before its first outcome."""
    return ProbeVerdict(
        {ProbeKind.STARTUP: None, ProbeKind.LIVENESS: True, ProbeKind.READINESS: False}[kind]
    )


def judge(verdict: ProbeVerdict, timing: Timing, *, succeeded: bool) -> ProbeVerdict:
    """The verdict after one more outcome."""
    row = verdict.row + 1 if verdict.last is succeeded else 1
    verdict = replace(verdict, row=row, last=succeeded)
    if row >= (timing.successes if succeeded else timing.failures):
        return replace(verdict, healthy=succeeded)
    return verdict


def port_number(port: int | str, container: Object) -> int:
    """The number of a port that is given by number or by name."""
    if isinstance(port, int):
        return port
    for known in container.get("ports", ()):
        if known.get("name") == port:
            return int(known["containerPort"])
    if port.isdecimal():
        return int(port)
    raise ValueError(f"the container has no port {port!r}")
