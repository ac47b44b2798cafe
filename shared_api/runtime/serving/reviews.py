"""Asks the cluster who may read the metrics.

A TokenReview returns the user of a caller's bearer token, and a SubjectAccessReview decides whether
that user may `get` the path, as in kube-rbac-proxy. Without both answers of the API server the caller
is refused. Answers are cached for a short time, by a hash of the token and never by the token. The
number of cached answers is bounded, separately for allowed and refused callers, so that guessed
tokens evict no scraper.
"""

import asyncio
import hashlib
from collections.abc import Mapping

import msgspec
import structlog

from shared_api.kube.client import Client
from shared_api.kube.errors import KubeError
from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource
from shared_api.runtime.clock import SYSTEM, Clock

log = structlog.stdlib.get_logger(__name__)

TOKEN_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
SUBJECT_ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
ALLOWED, UNAUTHENTICATED, FORBIDDEN, UNANSWERED = 200, 401, 403, 503
"""The HTTP status codes of the outcomes."""
_MOST_KEPT = 256
"""Cached answers, for allowed and for refused callers each."""
_AT_ONCE = 2
"""Concurrent reviews: few of the 16 requests that a process has in flight at most."""
_SECONDS = 5.0
"""Deadline of a review and its wait for a turn: half of the life of a connection."""


class _User(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _User = _User()


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    denied: bool = False


class _TokenReview(msgspec.Struct, frozen=True):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: _TokenStatus = _TokenStatus()


class _AccessReview(msgspec.Struct, frozen=True):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: _AccessStatus = _AccessStatus()


class Reviews:
    """The answers of one cluster, with their cache."""

    def __init__(
        self, client: Client, field_manager: str, *, keep_seconds: float, clock: Clock = SYSTEM
    ) -> None:
        self._client = client
        self._field_manager = field_manager
        self._keep_seconds = keep_seconds
        self._clock = clock
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._allowed: dict[bytes, tuple[float, int]] = {}
        self._refused: dict[bytes, tuple[float, int]] = {}
        self._fails = False

    async def status(self, authorization: str, path: str) -> int:
        """Return the status code for a request with this Authorization header."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or not token.isascii():
            return UNAUTHENTICATED
        key = hashlib.sha256(token.encode()).digest()
        if (kept := self._kept(key)) is not None:
            return kept
        try:
            async with asyncio.timeout(_SECONDS), self._turns:
                # Another request with the same token may have got the answer meanwhile.
                if (kept := self._kept(key)) is None:
                    kept = self._keep(key, await self._ask(token, path))
        except (KubeError, TimeoutError) as error:
            if not self._fails:
                log.warning("metrics are refused: no answer to a token review", error=str(error))
            self._fails = True
            return UNANSWERED
        self._fails = False
        return kept

    async def _ask(self, token: str, path: str) -> int:
        found = await self._client.create(
            TOKEN_REVIEWS,
            _manifest(TOKEN_REVIEWS, {"token": token}),
            field_manager=self._field_manager,
            into=_TokenReview,
        )
        if not found.status.authenticated:
            return UNAUTHENTICATED
        subject = msgspec.to_builtins(found.status.user)
        subject["user"] = subject.pop("username")
        asked = {**subject, "nonResourceAttributes": {"path": path, "verb": "get"}}
        answer = await self._client.create(
            SUBJECT_ACCESS_REVIEWS,
            _manifest(SUBJECT_ACCESS_REVIEWS, asked),
            field_manager=self._field_manager,
            into=_AccessReview,
        )
        return ALLOWED if answer.status.allowed and not answer.status.denied else FORBIDDEN

    def _kept(self, key: bytes) -> int | None:
        until, status = self._allowed.get(key) or self._refused.get(key) or (0.0, 0)
        return status if self._clock.monotonic() < until else None

    def _keep(self, key: bytes, status: int) -> int:
        self._allowed.pop(key, None)
        self._refused.pop(key, None)
        kept = self._allowed if status == ALLOWED else self._refused
        while len(kept) >= _MOST_KEPT:
            del kept[next(iter(kept))]
        kept[key] = (self._clock.monotonic() + self._keep_seconds, status)
        return status


def _manifest(resource: Resource, spec: Mapping[str, object]) -> dict[str, object]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {},
        "spec": spec,
    }
