"""What the API server asks a kubelet for when a client reads a log. Pure.

`kubectl logs` becomes `GET /containerLogs/NAMESPACE/POD/CONTAINER` with the options of the request in
the query. An option that cannot be honoured is refused, as a kubelet refuses it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote

from backend_controllers.contract.remote.executor import LogOptions
from shared_api.kube.metadata import ObjectKey

_PATH_PARTS = 4


class LogRequestError(Exception):
    """A request that cannot be answered, with the status code for it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class LogRequest:
    """One request for a log."""

    pod: ObjectKey
    container: str
    options: LogOptions
    limit: int | None = None
    """Bytes after which the answer ends."""


def log_request(path: str, query: Mapping[str, str], now: datetime) -> LogRequest:
    """Return what is asked for; raise LogRequestError if it cannot be answered."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if len(parts) != _PATH_PARTS or parts[0] != "containerLogs" or not all(parts):
        raise LogRequestError(404, "only /containerLogs/NAMESPACE/POD/CONTAINER is served")
    if query.get("previous") == "true":
        raise LogRequestError(
            400, "the log of an earlier run is not kept; its lines are in the log"
        )
    options = LogOptions(
        follow=query.get("follow") == "true",
        tail=_count(query, "tailLines"),
        timestamps=query.get("timestamps") == "true",
        since_seconds=_since(query, now),
    )
    return LogRequest(ObjectKey(parts[1], parts[2]), parts[3], options, _count(query, "limitBytes"))


def _since(query: Mapping[str, str], now: datetime) -> int | None:
    if (text := query.get("sinceTime")) is None:
        return _count(query, "sinceSeconds")
    try:
        return max(0, int((now - datetime.fromisoformat(text)).total_seconds()) + 1)
    except (ValueError, TypeError) as error:
        raise LogRequestError(400, f"sinceTime: '{text}' is not a valid time") from error


def _count(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise LogRequestError(400, f"{name}: '{text}' is not a count of lines, bytes or seconds")
    return int(text)
