"""Alerts about gangs, core and backends.

Every alert requires an action, which its page in docs/runbooks describes. Core defines which
reasons require manual action, so they are not repeated here.
"""

from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from monitoring.recordings import BACKEND_GANGS, BLOCKED, WRITTEN
from monitoring.rules import Alert, Group
from monitoring.scope import BACKEND_LEASE, CORE_LEASE, LEADS, of_leader, ours, quantile, total

MANUAL_ACTION = "|".join(
    sorted(reason.value for reason in BlockingReason if Blocker(reason, "").stalled)
)

AVAILABILITY = Group(
    "podgang.availability",
    (
        Alert(
            "CoreNotLeading",
            f"absent({LEADS}{{{CORE_LEASE}}} == 1)",
            "2m",
            "critical",
            "No core operator is the leader",
            "No pod is created, ungated or replaced. Running pods are not affected.",
        ),
        Alert(
            "BackendNotLeading",
            f"{total('name', f'{LEADS}{{{BACKEND_LEASE}}}')} == 0",
            "2m",
            "critical",
            "A backend has no leader",
            "No replica holds Lease {{ $labels.name }}. New gangs of this backend wait.",
        ),
        Alert(
            "TwoLeaders",
            f"{total('name', ours(LEADS))} > 1",
            "1m",
            "critical",
            "Two processes hold the same Lease",
            "{{ $value }} processes report that they hold Lease {{ $labels.name }}.",
        ),
        Alert(
            "BackendWithoutScheduler",
            # Not for a scheduler that was never there: deploy/all has a backend for each.
            f"({LEADS}{{{BACKEND_LEASE}}} == 1 unless on (job, instance) "
            f"({ours('backend_dialect_info')} == 1)) and on (job, instance) "
            f"max_over_time({ours('backend_dialect_info')}[1d]) == 1",
            "10m",
            "warning",
            "A backend does not find the API of its scheduler any more",
            "The backend with Lease {{ $labels.name }} is running and serves no gang.",
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
            "Gangs wait for a backend that is down",
            "{{ $value }} gangs have a backend that is down.",
        ),
        Alert(
            "GangsStalled",
            f'{BLOCKED}{{reason=~"{MANUAL_ACTION}"}} > 0',
            "15m",
            "warning",
            "Gangs require manual action",
            "{{ $value }} gangs cannot run until the cause is removed: {{ $labels.reason }}.",
        ),
        Alert(
            "GangsNotProgrammed",
            f'{BACKEND_GANGS}{{state="NotProgrammed"}} > 0',
            "10m",
            "warning",
            "A backend cannot write the objects of gangs",
            "{{ $value }} gangs of backend {{ $labels.backend }} are not programmed: {{ $labels.reason }}.",
        ),
        Alert(
            "GangsHeld",
            f'{BLOCKED}{{reason=~"PodsMissing|NotProgrammed|NotReleased|HeldByGates"}} > 0',
            "15m",
            "warning",
            "Gangs are not passed to their scheduler",
            "{{ $value }} gangs are still gated: {{ $labels.reason }}.",
        ),
        Alert(
            "GangsUnschedulable",
            f'{BLOCKED}{{reason="PodsNotScheduled"}} > 0',
            "1h",
            "info",
            "Gangs do not fit into the cluster",
            "{{ $value }} gangs are not scheduled. There was at least one for an hour.",
        ),
        Alert(
            "GangsNotReady",
            f'{BLOCKED}{{reason="PodsNotReady"}} > 0',
            "1h",
            "info",
            "Scheduled gangs do not become ready",
            "{{ $value }} gangs are scheduled and not ready. There was at least one for an hour.",
        ),
        Alert(
            "GangsWrittenSlowly",
            f"{WRITTEN} > 10",
            "15m",
            "warning",
            "A backend is slow to write the objects of gangs",
            "Backend {{ $labels.backend }} needs {{ $value | humanizeDuration }} (95th percentile).",
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
            "Gangs are terminated repeatedly",
            "{{ $value | humanize }} gangs were terminated in 30 minutes: they were below their minimum for too long.",
        ),
        Alert(
            "PodsLost",
            total("cause", of_leader(f"increase({ours('grove_pods_lost_total')}[15m])")) + " > 20",
            "0m",
            "warning",
            "Many ready pods were lost",
            "{{ $value | humanize }} pods in 15 minutes: {{ $labels.cause }}.",
        ),
        Alert(
            "RepairSlow",
            f"{quantile(0.9, 'grove_gang_repair_seconds', '1h')} > 600",
            "10m",
            "warning",
            "Gangs that lost a pod recover slowly",
            "It takes {{ $value | humanizeDuration }} until a gang has all its pods (90th percentile).",
        ),
        Alert(
            "MinimumAtRisk",
            f"sum by (invariant) (increase({ours('grove_invariant_violations_total')}[1h])) > 0",
            "0m",
            "critical",
            "A planned deletion would have broken minAvailable",
            "The deletion was not done. This is a bug in core: {{ $labels.invariant }}.",
        ),
        Alert(
            "ObjectConflicts",
            f"sum by (backend) (increase({ours('backend_conflicts_total')}[30m])) > 0",
            "10m",
            "warning",
            "Foreign objects block the writes of a backend",
            "Backend {{ $labels.backend }} does not overwrite objects that it does not own. Their gangs wait.",
        ),
    ),
)
