"""Computes the status of a pod from its containers. Pure.

Containers are described by frozen views; `pod_status` turns them into the body of a status
patch. Only conditions that a kubelet owns are in it, each with the time of its last change, so
equal situations give equal patches and nothing is sent twice.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from local_cluster.api import Object

OWN_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not running, and why."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """A process is there."""

    since: datetime


@dataclass(frozen=True, slots=True)
class TerminatedState:
    """A process was there."""

    exit_code: int
    reason: str
    since: datetime
    until: datetime
    message: str = ""
    container_id: str = ""


State = Waiting | Running | TerminatedState


@dataclass(frozen=True, slots=True)
class ContainerView:
    """One container as its status shows it."""

    name: str
    image: str = ""
    state: State = Waiting("ContainerCreating")
    last: TerminatedState | None = None
    restarts: int = 0
    ready: bool = False
    started: bool = False
    container_id: str = ""


@dataclass(frozen=True, slots=True)
class PodView:
    """One pod as its status shows it."""

    ip: str
    host_ip: str
    since: datetime
    init_containers: tuple[ContainerView, ...] = ()
    containers: tuple[ContainerView, ...] = ()
    mounted: bool = False
    initialized: bool = False
    over: bool = False
    terminating: bool = False


def pod_status(pod: Object, view: PodView, sent: Object, now: datetime) -> Object:
    """The status to report, given the pod as last observed and the status as last sent."""
    status: Object = {
        "phase": phase(view),
        "conditions": _conditions(pod, view, sent, now),
        "hostIP": view.host_ip,
        "hostIPs": [{"ip": view.host_ip}],
        "podIP": view.ip,
        "podIPs": [{"ip": view.ip}],
        "startTime": timestamp(view.since),
        "containerStatuses": [container_status(container) for container in view.containers],
    }
    if view.init_containers:
        status["initContainerStatuses"] = [container_status(c) for c in view.init_containers]
    return status


def phase(view: PodView) -> str:
    """The one-word summary."""
    if view.over:
        # A container that never ran has not succeeded, either.
        ends = [
            c.state.exit_code if isinstance(c.state, TerminatedState) else 1
            for c in view.containers
        ]
        return "Failed" if any(ends) else "Succeeded"
    if not view.initialized:
        return "Pending"
    began = any(not isinstance(c.state, Waiting) or c.last for c in view.containers)
    return "Running" if began else "Pending"


def container_status(view: ContainerView) -> Object:
    """One entry of containerStatuses."""
    status: Object = {
        "name": view.name,
        "image": view.image,
        "imageID": "",
        "state": _state(view.state),
        "restartCount": view.restarts,
        "ready": view.ready,
        "started": view.started,
    }
    if view.last is not None:
        status["lastState"] = _state(view.last)
    if view.container_id:
        status["containerID"] = view.container_id
    return status


def timestamp(moment: datetime) -> str:
    """A time as the API server writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _state(state: State) -> Object:
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        case Running(since):
            return {"running": {"startedAt": timestamp(since)}}
        case TerminatedState():
            ended: Object = {
                "exitCode": state.exit_code,
                "reason": state.reason,
                "startedAt": timestamp(state.since),
                "finishedAt": timestamp(state.until),
                "containerID": state.container_id,
            }
            return {"terminated": ended | ({"message": state.message} if state.message else {})}


def _conditions(pod: Object, view: PodView, sent: Object, now: datetime) -> list[Object]:
    # What was sent is newer than what was observed, which may still be on its way.
    observed = pod.get("status", {}).get("conditions", ())
    known = {c["type"]: c for c in (*observed, *sent.get("conditions", ()))}
    result = []
    for kind, problem in zip(OWN_CONDITIONS, _problems(pod, view), strict=True):
        status = "True" if problem is None else "False"
        before = known.get(kind, {})
        changed = timestamp(now)
        if before.get("status") == status:
            changed = before.get("lastTransitionTime", changed)
        reason, message = problem or (None, None)
        result.append(
            {
                "type": kind,
                "status": status,
                "lastTransitionTime": changed,
                # In a patch, null removes the value of an earlier report.
                "reason": reason,
                "message": message,
            }
        )
    return result


Problem = tuple[str, str | None]


def _problems(pod: Object, view: PodView) -> tuple[Problem | None, ...]:
    """For each of OWN_CONDITIONS, why it is not true."""
    sandbox = None if view.mounted else ("ContainersNotStarted", None)
    initialized = None
    if not view.initialized:
        waiting = [c.name for c in view.init_containers if not c.ready]
        text = f"containers with incomplete status: [{' '.join(waiting)}]"
        initialized = ("ContainersNotInitialized", text)
    containers: Problem | None = None
    unready = [c.name for c in view.containers if not c.ready]
    if view.over:
        containers = ("PodCompleted" if phase(view) == "Succeeded" else "PodFailed", None)
    elif unready:
        text = f"containers with unready status: [{' '.join(unready)}]"
        containers = ("ContainersNotReady", text)
    ready = containers or _closed_gate(pod)
    if view.terminating and ready is None:
        ready = ("PodTerminating", "the pod is being deleted")
    return sandbox, initialized, containers, ready


def _closed_gate(pod: Object) -> Problem | None:
    conditions = pod.get("status", {}).get("conditions", ())
    true = {c["type"] for c in conditions if c["status"] == "True"}
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates", ())]
    closed = [gate for gate in gates if gate not in true]
    if not closed:
        return None
    return "ReadinessGatesNotReady", f"readiness gates not true: [{' '.join(closed)}]"
