"""The status of a pod, computed from what runs for it on the far side.

It has the fields that a kubelet writes, so that kubectl, Services' owners and core read such a pod
like any other. A pod whose host cannot be reached keeps its phase; its readiness is unknown.
"""

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import GangTag, RemoteUnit
from shared_api.models import JsonObject, RemoteMemberState

REASON_UNREACHABLE = "HostUnreachable"
_GONE = "ContainerStatusUnknown"
"""The reason that a kubelet gives in this case."""
_CRASH_LOOP = "CrashLoopBackOff"


def pod_status(pod: RemotePod, unit: RemoteUnit, now: str) -> JsonObject | None:
    """Return the status to write; None if the pod shows it already."""
    phase = _phase(pod, unit)
    ready, reason, message = _readiness(pod, unit)
    if _is_shown(pod, unit, phase, ready):
        return None
    conditions: list[JsonObject] = [
        {"type": kind, "status": ready, "reason": reason, "message": message}
        for kind in ("Ready", "ContainersReady")
    ]
    conditions.append({"type": "Initialized", "status": "True", "reason": "", "message": ""})
    before = {found.type: found.status for found in pod.status.conditions}
    for condition in conditions:
        if before.get(str(condition["type"])) != condition["status"]:
            condition["lastTransitionTime"] = now
    status: JsonObject = {
        "phase": phase,
        "conditions": [*conditions],
        "containerStatuses": [_container(pod, unit)],
        "startTime": pod.status.start_time or now,
    }
    if unit.address:
        status["podIP"] = unit.address
        status["podIPs"] = [{"ip": unit.address}]
        status["hostIP"] = unit.address
    return status


def lost_status(pod: RemotePod, reason: str, now: str) -> JsonObject | None:
    """Return the status of a pod of which nothing is left; None if the pod shows it already."""
    restarts = [found.restart_count for found in pod.status.container_statuses]
    message = f"nothing runs for this pod any more, resources are reserved again: {reason}"
    lost = RemoteUnit(
        GangTag(pod.metadata.namespace, "", ""),
        *(pod.metadata.name, pod.metadata.uid, "", ""),
        RemoteMemberState.RESERVED,
        restarts=max(restarts, default=0),
        message=message.removesuffix(": "),
    )
    return pod_status(pod, lost, now)


def vanished_status(pod: RemotePod, reason: str, now: str) -> JsonObject:
    """Return the status of a pod that ran, must not run again, and of which nothing is left."""
    message = "nothing of this pod exists on its host any more, and its restart policy is Never"
    if reason:
        message = f"{message}: {reason}"
    container = pod.spec.containers[0]
    ended: JsonObject = {"exitCode": 137, "reason": _GONE, "message": message}
    return {
        "phase": "Failed",
        "reason": _GONE,
        "message": message,
        "conditions": [
            {
                "type": kind,
                "status": "False",
                "reason": "PodFailed",
                "message": message,
                "lastTransitionTime": now,
            }
            for kind in ("Ready", "ContainersReady")
        ],
        "containerStatuses": [
            {
                "name": container.name,
                "image": container.image,
                "imageID": "",
                "ready": False,
                "started": False,
                "restartCount": 0,
                "state": {"terminated": ended},
            }
        ],
    }


def _is_shown(pod: RemotePod, unit: RemoteUnit, phase: str, ready: str) -> bool:
    shown = {found.type: found.status for found in pod.status.conditions}
    if pod.status.phase != phase or shown.get("Ready") != ready:
        return False
    containers = pod.status.container_statuses
    return len(containers) == 1 and containers[0].restart_count == unit.restarts


def _phase(pod: RemotePod, unit: RemoteUnit) -> str:
    match unit.state:
        case RemoteMemberState.RESERVED:
            return "Pending"
        case RemoteMemberState.RUNNING:
            return "Running"
        case RemoteMemberState.EXITED:
            if _restarts(pod, unit):
                return "Running"
            return "Succeeded" if unit.exit_code == 0 else "Failed"
        case RemoteMemberState.UNKNOWN:
            return pod.status.phase or "Pending"


def _restarts(pod: RemotePod, unit: RemoteUnit) -> bool:
    policy = pod.spec.restart_policy
    return policy == "Always" or (policy == "OnFailure" and unit.exit_code != 0)


def _readiness(pod: RemotePod, unit: RemoteUnit) -> tuple[str, str, str]:
    match unit.state:
        case RemoteMemberState.RUNNING:
            return "True", "", ""
        case RemoteMemberState.RESERVED:
            message = unit.message or f"waits on host {unit.host} for its start"
            return "False", "ContainersNotReady", message
        case RemoteMemberState.EXITED:
            reason = "ContainersNotReady" if _restarts(pod, unit) else "PodCompleted"
            return "False", reason, unit.message
        case RemoteMemberState.UNKNOWN:
            message = f"host {unit.host} cannot be reached; the pod may still run there"
            return "Unknown", REASON_UNREACHABLE, message


def _container(pod: RemotePod, unit: RemoteUnit) -> JsonObject:
    container = pod.spec.containers[0]
    is_running = unit.state is RemoteMemberState.RUNNING
    return {
        "name": container.name,
        "image": container.image,
        "imageID": unit.image,
        "containerID": f"remote://{unit.external_id}" if unit.external_id else "",
        "ready": is_running,
        "started": is_running,
        "restartCount": unit.restarts,
        "state": _container_state(pod, unit),
    }


def _container_state(pod: RemotePod, unit: RemoteUnit) -> JsonObject:
    if unit.state is RemoteMemberState.RUNNING:
        return {"running": {"startedAt": unit.started_at} if unit.started_at else {}}
    if unit.state is not RemoteMemberState.EXITED:
        return {"waiting": {"reason": "ContainerCreating", "message": unit.message}}
    if _restarts(pod, unit):
        text = f"exit code {unit.exit_code}; {unit.restarts} restarts"
        return {"waiting": {"reason": _CRASH_LOOP, "message": text}}
    ended: JsonObject = {
        "exitCode": unit.exit_code or 0,
        "reason": unit.message or ("Completed" if unit.exit_code == 0 else "Error"),
    }
    if unit.started_at:
        ended["startedAt"] = unit.started_at
    if unit.finished_at:
        ended["finishedAt"] = unit.finished_at
    return {"terminated": ended}
