"""The errors of the API client, as one tree.

    KubeError
    ├── ConfigError             no usable server address or credentials
    ├── TransportError          no whole answer came back
    │   ├── ConnectionLost      refused, reset or cut off; `sent`: it may have arrived
    │   ├── Timeout             our deadline passed
    │   └── BadResponse         an answer that is too large or malformed
    └── ApiError                the server answered with an error
        ├── Redirected          3xx: something before the API server answered; never followed
        ├── Invalid             400, 422 and other refusals of the request itself
        ├── Unauthorized        401
        ├── Forbidden           403
        ├── NotFound            404
        ├── Conflict            409
        │   └── AlreadyExists   409
        ├── Gone                410: the resource version is too old
        ├── TooManyRequests     429
        └── ServerError         5xx, and 408 and 425, which ask for the same request again

`classify` is the only function that decides what a controller does next. A body that is not a
Kubernetes Status is never quoted, and quotes are shortened, because error messages are written
to logs, conditions and events.
"""

# ruff: noqa: N818 - the names are what the API server calls these answers

import enum
from urllib.parse import urlsplit

import msgspec

from shared_api.truncation import truncated

TEXT_LIMIT = 512
CAUSES_LIMIT = 8
RETRY_AFTER_LIMIT = 60.0


class ErrorAction(enum.Enum):
    """What a controller does after an error."""

    RETRY = "retry"
    """The same request may succeed later, and no event announces when."""
    WAIT_FOR_EVENT = "wait"
    """The cache is older than the server's state; a watch event will follow."""
    TERMINAL = "terminal"
    """The same request will always fail; it must change."""


class StatusCause(msgspec.Struct, frozen=True):
    """One cause of a refusal: a field and what is wrong with it."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    """The machine-readable part of a Status."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """A `meta/v1` Status, as the body of a failed request or inside an ERROR event."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


class KubeError(Exception):
    """Root of the tree."""


class ConfigError(KubeError):
    """There is no usable configuration."""


class TransportError(KubeError):
    """No whole answer came back; the server may or may not have acted."""


class ConnectionLost(TransportError):
    """The connection could not be made or broke."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(truncated(message, TEXT_LIMIT))
        self.sent = sent


class Timeout(TransportError):
    """Our deadline passed first."""


class BadResponse(TransportError):
    """The answer is too large or malformed."""


class ApiError(KubeError):
    """The server refused, with a code and a reason."""

    def __init__(self, status: Status, *, retry_after: float | None = None) -> None:
        self.code = status.code
        self.reason = status.reason[:TEXT_LIMIT]
        self.message = truncated(status.message, TEXT_LIMIT)
        details = status.details or StatusDetails()
        causes = tuple(
            StatusCause(
                *(
                    truncated(text, TEXT_LIMIT)
                    for text in (cause.reason, cause.message, cause.field)
                )
            )
            for cause in details.causes[:CAUSES_LIMIT]
        )
        self.details = msgspec.structs.replace(details, causes=causes)
        if retry_after is None and details.retry_after_seconds > 0:
            retry_after = float(details.retry_after_seconds)
        self.retry_after = None if retry_after is None else min(retry_after, RETRY_AFTER_LIMIT)
        super().__init__(f"{self.code} {self.reason}: {self.message}")

    def has_cause(self, reason: str) -> bool:
        """Tell whether the server names this reason among the causes."""
        return any(cause.reason == reason for cause in self.details.causes)


class Redirected(ApiError):
    """The answer is a redirect, which is never followed with our credentials."""


class Invalid(ApiError):
    """The request itself is wrong."""


class Unauthorized(ApiError):
    """The credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """RBAC, a quota or an admission plug-in refused the request."""

    @property
    def exceeded_quota(self) -> str:
        """The exhausted quota with its numbers; empty if the refusal has another cause.

        The server sets no reason for this, so its message is parsed, which has never changed.
        """
        return self.message.partition("exceeded quota: ")[2]


class NotFound(ApiError):
    """The object, its namespace or its kind does not exist."""


class Conflict(ApiError):
    """A precondition failed, or another field manager owns a field."""

    @property
    def is_field_ownership(self) -> bool:
        """Tell whether this is a server-side apply conflict, not a stale version or UID."""
        return self.has_cause("FieldManagerConflict")


class AlreadyExists(Conflict):
    """An object of that name exists."""


class Gone(ApiError):
    """The resource version or the continue token is too old."""


class TooManyRequests(ApiError):
    """The server sheds load, or a disruption budget allows no eviction now."""


class ServerError(ApiError):
    """The server failed, or gave up waiting for the request."""


_BY_CODE: dict[int, type[ApiError]] = {
    408: ServerError,
    425: ServerError,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    429: TooManyRequests,
}


def from_status(status: Status, *, retry_after: float | None = None) -> ApiError:
    """Make the error that a Status describes."""
    if status.code == 409 and status.reason == "AlreadyExists":
        return AlreadyExists(status, retry_after=retry_after)
    fallback = ServerError if status.code >= 500 else Invalid
    return _BY_CODE.get(status.code, fallback)(status, retry_after=retry_after)


def from_response(
    code: int, body: bytes, retry_after: str | None = None, location: str | None = None
) -> ApiError:
    """Make the error of a failed request from its code, body and headers."""
    if 300 <= code < 400:
        return Redirected(Status(code, "Redirect", _redirect(location)))
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, RecursionError):
        status = Status()
    if not status.reason and not status.message:
        # The body of a proxy or a load balancer may contain secrets: it is not quoted.
        status = Status(message=f"the answer is not a Kubernetes Status ({len(body)} bytes)")
    status = msgspec.structs.replace(status, code=code)
    seconds = float(retry_after) if retry_after is not None and retry_after.isdecimal() else None
    return from_status(status, retry_after=seconds)


def _redirect(location: str | None) -> str:
    """Return where a redirect points, without its query, which may contain a secret."""
    try:
        to = urlsplit(location or "")
        place = f"{to.scheme}://{to.hostname}" if to.hostname else ""
        place += to.path
    except ValueError:
        place = ""
    place = "".join(char for char in place if char.isprintable()) or "nowhere"
    return (
        f"the server redirects to {truncated(place, 200)}, which is not followed. "
        "Set the address of the API server itself, not that of a login page or gateway"
    )


def classify(error: BaseException) -> ErrorAction:
    """Decide between retrying, waiting for an event and giving up."""
    match error:
        case Conflict() if error.details.kind == "resourcequotas":
            # Concurrent creations have updated the quota's usage, and this one was not counted.
            return ErrorAction.RETRY
        case NotFound() | Conflict() | Gone():
            return ErrorAction.WAIT_FOR_EVENT
        case Forbidden() if error.has_cause("NamespaceTerminating"):
            return ErrorAction.WAIT_FOR_EVENT
        case Invalid() | ConfigError():
            return ErrorAction.TERMINAL
        case _:
            # Forbidden is retried: no watch of ours announces a new role or a raised quota.
            return ErrorAction.RETRY
