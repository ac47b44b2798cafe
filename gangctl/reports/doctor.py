"""`doctor`: is everything there that gangs need, and what to do about what is not.

It owns the list of checks and their remedies. A check that the user may not make is Unknown, never
Passed. Checks read facts only; nothing is repaired.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from gangctl.reports.backends import backends_report
from gangctl.reports.view import Grid, Line, Verdict, View, age
from gangctl.snapshot import BACKENDS, BINDINGS, ListedDeployment, Snapshot, condition
from shared_api import names
from shared_api.kube.resources import DEPLOYMENTS, PODS

SYSTEM_NAMESPACE = "grove-system"
CORE = "core-operator"
_INSTALL_CORE = "kubectl apply --server-side -k deploy/core"
_KINDS = {
    f"{names.GROVE_GROUP}/{names.VERSION}": (
        "PodCliqueSet",
        "PodClique",
        "PodCliqueScalingGroup",
        "SchedulerBackend",
        "ClusterTopologyBinding",
    ),
    f"{names.SCHEDULER_GROUP}/{names.VERSION}": ("PodGang",),
}
_MARKS = {"Passed": "✓", "Warning": "!", "Failed": "✗", "Unknown": "·"}
_VERDICTS = {"Warning": Verdict.WAITING, "Failed": Verdict.MANUAL_ACTION}
_BAD_STATES = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CrashLoopBackOff")
_LEASE_SECONDS = 15
ASK_FOR_VIEW = (
    "Ask an administrator to bind the ClusterRole view to you by a ClusterRoleBinding, not only in"
    " your namespace"
)
_REMEDIES = {
    "list schedulerbackends": ASK_FOR_VIEW,
    "list pods of all namespaces": f"{ASK_FOR_VIEW}. Until then free capacity is unknown",
    "list nodes": (
        "Ask an administrator for a ClusterRole that lists nodes. Until then free capacity is unknown"
    ),
}
_ASK_FOR_ROLE = (
    "Ask an administrator for the role view in the namespace, or edit to create and scale"
)


@dataclass(frozen=True)
class ServerAnswers:
    """What the checks need besides objects."""

    kinds: Mapping[str, frozenset[str]] | None
    """Kinds that the server serves, by API version; None if the user may not ask."""
    rights: Mapping[str, bool | None]
    """Whether the user may do something; None if the server did not answer."""
    gates: Mapping[str, bool] | None = None
    """Feature gates of the API server; None if its metrics may not be read."""


class Check(msgspec.Struct, frozen=True, rename="camel"):
    """One fact that was checked."""

    area: str
    outcome: str
    """Passed, Warning, Failed or Unknown."""
    message: str
    remedy: str = ""


class DoctorReport(msgspec.Struct, frozen=True, rename="camel"):
    """All checks, those that failed first."""

    verdict: Verdict
    checks: tuple[Check, ...]


def doctor_report(snapshot: Snapshot, facts: ServerAnswers) -> DoctorReport:
    """Return all checks."""
    checks = [
        *_crds(facts),
        *_gates(snapshot, facts),
        *_controllers(snapshot),
        *_images(snapshot),
        *_backends(snapshot),
        *_bindings(snapshot),
        *_rights(facts),
    ]
    ranked = sorted(checks, key=lambda check: -_VERDICTS.get(check.outcome, Verdict.FINE))
    verdict = max((_VERDICTS.get(c.outcome, Verdict.FINE) for c in checks), default=Verdict.FINE)
    return DoctorReport(verdict, tuple(ranked))


def _crds(facts: ServerAnswers) -> Iterator[Check]:
    if facts.kinds is None:
        yield Check("crds", "Unknown", "you may not ask the server which kinds it serves")
        return
    for version, kinds in _KINDS.items():
        missing = [kind for kind in kinds if kind not in facts.kinds.get(version, ())]
        if missing:
            text = f"{version} is served without {', '.join(missing)}"
            yield Check("crds", "Failed", text, _INSTALL_CORE)
        else:
            yield Check("crds", "Passed", f"{version} is served with {', '.join(kinds)}")


def _gates(snapshot: Snapshot, facts: ServerAnswers) -> Iterator[Check]:
    """Check what Kubernetes' own scheduler needs, if its backend is installed."""
    version = snapshot.server_version or "unknown"
    if snapshot.may_not_list(BACKENDS) or facts.kinds is None:
        text = "you may not ask which backends are installed and which kinds are served"
        yield Check("gates", "Unknown", text)
        return
    if not any(item.metadata.name == "default" for item in snapshot.backends):
        yield Check("gates", "Passed", f"Kubernetes {version}; backend default is not installed")
        return
    served = sorted(
        api
        for api, kinds in facts.kinds.items()
        if {"PodGroup", "Workload"} & kinds and api.startswith("scheduling.k8s.io/")
    )
    if served:
        yield Check("gates", "Passed", f"Kubernetes {version} serves gangs as {', '.join(served)}")
    else:
        yield Check(
            "gates",
            "Warning",
            f"Kubernetes {version} serves no API for gangs",
            "Enable the feature gates and API versions of docs/backends/default.md,"
            " or use another backend",
        )
    if facts.gates is None:
        yield Check("gates", "Unknown", "you may not read the feature gates of the API server")
        return
    for gate in ("GenericWorkload", "GangScheduling"):
        if gate in facts.gates:
            outcome = "Passed" if facts.gates[gate] else "Warning"
            state = "on" if facts.gates[gate] else "off"
            remedy = "" if facts.gates[gate] else f"Start kube-apiserver with {gate}=true"
            yield Check("gates", outcome, f"feature gate {gate} is {state}", remedy)


def _controllers(snapshot: Snapshot) -> Iterator[Check]:
    if "deployments" in snapshot.unread:
        yield Check("controllers", "Unknown", "you may not list Deployments")
        return
    own = _own_deployments(snapshot)
    if not any(one.metadata.name == CORE for one in own):
        text = f"there is no Deployment {SYSTEM_NAMESPACE}/{CORE}"
        yield Check("controllers", "Failed", text, _INSTALL_CORE)
    for one in own:
        name = one.metadata.name
        text = f"{name}: {one.status.available_replicas}/{one.spec.replicas} replicas available"
        if one.status.available_replicas:
            yield Check("controllers", "Passed", text)
            continue
        command = f"kubectl -n {SYSTEM_NAMESPACE} describe deployment {name}"
        if not one.spec.replicas:
            command = f"kubectl -n {SYSTEM_NAMESPACE} scale deployment {name} --replicas=2"
        yield Check("controllers", "Failed", text, command)
    yield from _leader(snapshot)


def _own_deployments(snapshot: Snapshot) -> list[ListedDeployment]:
    return [
        one
        for one in sorted(snapshot.deployments, key=lambda one: one.metadata.name)
        if one.metadata.namespace == SYSTEM_NAMESPACE
    ]


def _leader(snapshot: Snapshot) -> Iterator[Check]:
    if "leases" in snapshot.unread:
        yield Check("leases", "Unknown", "you may not list Leases")
        return
    for lease in snapshot.leases:
        if (lease.metadata.namespace, lease.metadata.name) != (SYSTEM_NAMESPACE, CORE):
            continue
        renewed = age(lease.spec.renew_time, snapshot.now)
        seconds = lease.spec.lease_duration_seconds or _LEASE_SECONDS
        text = f"Lease {SYSTEM_NAMESPACE}/{CORE} of {lease.spec.holder_identity or 'nobody'}"
        if lease.spec.holder_identity and _is_fresh(lease.spec.renew_time, snapshot, seconds):
            yield Check("leases", "Passed", f"{text}, renewed {renewed} ago")
        else:
            remedy = f"kubectl -n {SYSTEM_NAMESPACE} logs deployment/{CORE}"
            yield Check("leases", "Failed", f"{text} expired: renewed {renewed or '?'} ago", remedy)
        return
    text = f"there is no Lease {SYSTEM_NAMESPACE}/{CORE}: core never led"
    remedy = f"kubectl -n {SYSTEM_NAMESPACE} logs deployment/{CORE}"
    yield Check("leases", "Failed", text, remedy)


def _is_fresh(renewed: str, snapshot: Snapshot, seconds: int) -> bool:
    if not renewed:
        return False
    return (snapshot.now - datetime.fromisoformat(renewed)).total_seconds() <= seconds


def _images(snapshot: Snapshot) -> Iterator[Check]:
    if {DEPLOYMENTS.plural, PODS.plural} & snapshot.unread.keys():
        yield Check("images", "Unknown", "you may not list Deployments and pods of all namespaces")
    own = _own_deployments(snapshot)
    images = sorted({image for one in own for image in one.images})
    if len(images) > 1:
        text = f"the controllers have different images: {', '.join(images)}"
        remedy = "Set one image in all Deployments"
        yield Check("images", "Warning", text, remedy)
    elif images:
        yield Check("images", "Passed", f"all controllers have the image {images[0]}")
    stuck: dict[str, list[str]] = defaultdict(list)
    for pod in snapshot.pods:
        if pod.metadata.namespace == SYSTEM_NAMESPACE and pod.state in _BAD_STATES:
            stuck[pod.state].append(pod.metadata.name)
    for state, pods in stuck.items():
        remedy = f"kubectl -n {SYSTEM_NAMESPACE} describe pod {pods[0]}"
        yield Check("images", "Failed", f"{state}: {', '.join(sorted(pods))}", remedy)


def _backends(snapshot: Snapshot) -> Iterator[Check]:
    if snapshot.may_not_list(BACKENDS):
        yield Check("backends", "Unknown", "you may not list SchedulerBackends")
        return
    report = backends_report(snapshot)
    if not report.backends:
        remedy = "kubectl apply --server-side -k deploy/backends/default"
        yield Check("backends", "Failed", "no backend is installed", remedy)
    for row in report.backends:
        if row.verdict is Verdict.FINE:
            using = f" with {row.version or row.dialect}" if row.version or row.dialect else ""
            yield Check("backends", "Passed", f"{row.name} is alive and ready{using}")
        else:
            remedy = f"kubectl -n {SYSTEM_NAMESPACE} get deployment backend-{row.name}"
            yield Check("backends", "Failed", f"{row.name}: {row.missing}", remedy)


def _bindings(snapshot: Snapshot) -> Iterator[Check]:
    if "nodes" in snapshot.unread:
        yield Check("topology", "Unknown", "you may not list nodes")
        return
    if snapshot.may_not_list(BINDINGS):
        yield Check("topology", "Unknown", "you may not list ClusterTopologyBindings")
    for binding in sorted(snapshot.bindings, key=lambda item: item.metadata.name):
        name = binding.metadata.name
        for level in binding.spec.get("levels") or ():
            yield _level(snapshot, name, str(level["domain"]), str(level["key"]))
        drift = condition(binding, names.CONDITION_SCHEDULER_TOPOLOGY_DRIFT)
        if drift.get("status") == "True":
            text = f"binding {name}: {drift.get('message', '')}"
            remedy = f"kubectl describe clustertopologybinding {name}"
            yield Check("topology", "Warning", text, remedy)


def _level(snapshot: Snapshot, binding: str, domain: str, key: str) -> Check:
    total = len(snapshot.nodes)
    bare = [node.metadata.name for node in snapshot.nodes if key not in node.metadata.labels]
    text = f"binding {binding}: level {domain} ({key}) is on {total - len(bare)} of {total} nodes"
    if not bare:
        return Check("topology", "Passed", text)
    listed = ", ".join(bare[:3]) + (" ..." if len(bare) > 3 else "")
    outcome = "Warning" if len(bare) < total else "Failed"
    return Check(
        "topology", outcome, f"{text}; not on {listed}", f"kubectl label node {bare[0]} {key}=VALUE"
    )


def _rights(facts: ServerAnswers) -> Iterator[Check]:
    for right, is_granted in facts.rights.items():
        if is_granted is None:
            yield Check("rights", "Unknown", f"you may {right}: the server did not answer")
        elif is_granted:
            yield Check("rights", "Passed", f"you may {right}")
        else:
            remedy = _REMEDIES.get(right, _ASK_FOR_ROLE)
            yield Check("rights", "Warning", f"you may not {right}", remedy)


def doctor_view(report: DoctorReport) -> View:
    """Return a table of checks, and below it what to do about those that need it."""
    rows = [(_MARKS[check.outcome], check.area, check.message) for check in report.checks]
    marks = [_VERDICTS.get(check.outcome, Verdict.FINE) for check in report.checks]
    failed = sum(check.outcome == "Failed" for check in report.checks)
    warned = sum(check.outcome == "Warning" for check in report.checks)
    summary = f"{len(rows)} checks: {failed} failed, {warned} with a warning."
    remedies = [
        line
        for check in report.checks
        if check.remedy
        for line in (
            Line(f"{_MARKS[check.outcome]} {check.message}", _VERDICTS.get(check.outcome)),
            Line(f"  {check.remedy}"),
        )
    ]
    return [Grid(("", "AREA", "FOUND"), rows, marks), Line(summary, report.verdict), *remedies]
