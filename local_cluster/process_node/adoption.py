"""What a restarted process node makes of the statuses that it finds. Pure.

The processes of an earlier process node died with it. A container that was running is shown as
ended by SIGKILL and counts a restart when it starts again; one that had ended keeps its end.
"""

from dataclasses import replace
from datetime import datetime

from local_cluster.api import Object
from local_cluster.process_node.status import (
    ContainerView,
    Running,
    State,
    TerminatedState,
    Waiting,
)

LOST = "ContainerStatusUnknown"


def adopt(container: Object, statuses: list[Object], now: datetime) -> ContainerView:
    """The view of a container from what the API server has in a list of statuses."""
    view = ContainerView(container["name"], container.get("image", ""))
    found = next((s for s in statuses if s["name"] == view.name), None)
    if found is None:
        return view
    state = _read(found.get("state", {}))
    last = _read(found.get("lastState", {}))
    view = replace(
        view,
        restarts=found.get("restartCount", 0),
        last=last if isinstance(last, TerminatedState) else None,
        container_id=found.get("containerID", ""),
    )
    match state:
        case TerminatedState():
            return replace(view, state=state)
        case Running(since):
            text = "the process node was restarted"
            lost = TerminatedState(137, LOST, since, now, text, view.container_id)
            return replace(view, state=lost)
        case Waiting():
            return view


def adopted_start(status: Object, now: datetime) -> datetime:
    """When the pod was first seen by a process node; now, if never."""
    known = status.get("startTime")
    return now if known is None else datetime.fromisoformat(known)


def _read(state: Object) -> State:
    if running := state.get("running"):
        return Running(datetime.fromisoformat(running["startedAt"]))
    if ended := state.get("terminated"):
        return TerminatedState(
            exit_code=ended["exitCode"],
            reason=ended.get("reason", ""),
            since=datetime.fromisoformat(ended["startedAt"]),
            until=datetime.fromisoformat(ended["finishedAt"]),
            message=ended.get("message", ""),
            container_id=ended.get("containerID", ""),
        )
    waiting = state.get("waiting", {})
    return Waiting(waiting.get("reason", "ContainerCreating"), waiting.get("message", ""))
