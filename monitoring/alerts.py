"""Alerts about gangs and about who serves them.

An alert is about something that a person can do; what it means and what to do is in
docs/runbooks. Which reasons need a person is not repeated here: core says it.
"""

from core_operator.plan.statuses.reasons import Blocked, Blocking
from monitoring.recordings import BACKEND_GANGS, BLOCKED, WRITTEN
from monitoring.rules import Alert, Group
from monitoring.scope import BACKEND_LEASE, CORE_LEASE, LEADS, of_leader, ours, quantile, total

NEEDS_A_PERSON = "|".join(
    sorted(reason.value for reason in Blocking if Blocked(reason, "").stalled)
)

AVAILABILITY = Group(
    "podgang.availability",
    (
        Alert(
            "CoreNotLeading",
            f"absent({LEADS}{{{CORE_LEASE}}} == 1)",
            "2m",
            "critical",
            "No core operator leads",
            "Nothing is created, released or repaired. Running pods are not touched.",
        ),
        Alert(
            "BackendNotLeading",
            f"{total('name', f'{LEADS}{{{BACKEND_LEASE}}}')} == 0",
            "2m",
            "critical",
            "No replica of a backend leads",
            "None of the replicas behind Lease {{ $labels.name }} holds it: new gangs of that "
            "backend wait.",
        ),
        Alert(
            "TwoLeaders",
            f"{total('name', ours(LEADS))} > 1",
            "1m",
            "critical",
            "Two processes say that they lead",
            "{{ $value }} processes claim Lease {{ $labels.name }}.",
        ),
        Alert(
            "BackendWithoutScheduler",
            f"{LEADS}{{{BACKEND_LEASE}}} == 1 unless on (job, instance) "
            f"({ours('backend_dialect_info')} == 1)",
            "10m",
            "warning",
            "A backend does not find its scheduler's API",
            "The backend behind Lease {{ $labels.name }} runs, and serves no gang.",
        ),
    ),
)

GANGS = Group(
    "podgang.gangs",
    (
        Alert(
            "BackendUnavailable",
            f'{BLOCKED}{{reason="BackendUnavailable"}} > 0',
            "5m",
            "warning",
            "Gangs wait for a backend that does not run",
            "{{ $value }} gangs have no live backend.",
        ),
        Alert(
            "GangsStalled",
            f'{BLOCKED}{{reason=~"{NEEDS_A_PERSON}"}} > 0',
            "15m",
            "warning",
            "Gangs wait for a person",
            "{{ $value }} gangs cannot run before somebody acts: {{ $labels.reason }}.",
        ),
        Alert(
            "GangsNotProgrammed",
            f'{BACKEND_GANGS}{{state="NotProgrammed"}} > 0',
            "10m",
            "warning",
            "A backend cannot write the objects of gangs",
            "{{ $value }} gangs of backend {{ $labels.backend }}: {{ $labels.reason }}.",
        ),
        Alert(
            "GangsHeld",
            f'{BLOCKED}{{reason=~"PodsMissing|NotProgrammed|NotReleased|HeldByGates"}} > 0',
            "15m",
            "warning",
            "Gangs are not handed to their scheduler",
            "{{ $value }} gangs: {{ $labels.reason }}.",
        ),
        Alert(
            "GangsUnschedulable",
            f'{BLOCKED}{{reason="PodsNotScheduled"}} > 0',
            "1h",
            "info",
            "Gangs wait for room",
            "{{ $value }} gangs are not placed; for an hour there was at least one.",
        ),
        Alert(
            "GangsNotReady",
            f'{BLOCKED}{{reason="PodsNotReady"}} > 0',
            "1h",
            "info",
            "Placed gangs do not become ready",
            "{{ $value }} gangs are placed and not ready; for an hour there was at least one.",
        ),
        Alert(
            "GangsWrittenSlowly",
            f"{WRITTEN} > 10",
            "15m",
            "warning",
            "It takes long until a scheduler learns of a gang",
            "Backend {{ $labels.backend }}: {{ $value | humanizeDuration }} (95th percentile).",
        ),
    ),
)

LOSSES = Group(
    "podgang.losses",
    (
        Alert(
            "GangTerminations",
            f"sum(increase({ours('grove_gang_terminations_total')}[30m])) >= 3",
            "0m",
            "warning",
            "Gangs are terminated again and again",
            "{{ $value | humanize }} in half an hour stayed below their minimum for too long.",
        ),
        Alert(
            "PodsLost",
            total("cause", of_leader(f"increase({ours('grove_pods_lost_total')}[15m])")) + " > 20",
            "0m",
            "warning",
            "Many serving pods were taken",
            "{{ $value | humanize }} pods in a quarter of an hour: {{ $labels.cause }}.",
        ),
        Alert(
            "RepairSlow",
            f"{quantile(0.9, 'grove_gang_repair_seconds', '1h')} > 600",
            "10m",
            "warning",
            "Gangs that lost a pod are not whole again soon",
            "{{ $value | humanizeDuration }} until the gang was whole (90th percentile).",
        ),
        Alert(
            "MinimumAtRisk",
            f"sum by (invariant) (increase({ours('grove_invariant_violations_total')}[1h])) > 0",
            "0m",
            "critical",
            "A deletion was planned that would have broken a promise",
            "It was not done. This is a defect: {{ $labels.invariant }}.",
        ),
        Alert(
            "ObjectConflicts",
            f"sum by (backend) (increase({ours('backend_conflicts_total')}[30m])) > 0",
            "10m",
            "warning",
            "Objects of others stand where a backend wants to write",
            "Backend {{ $labels.backend }} leaves them alone, and their gangs wait.",
        ),
    ),
)
