"""The protocol with which a backend reaches its far side, and the values that cross it.

An executor is the only place with I/O to the far side. Like a watch and its cache, it observes
continuously and answers from memory; only `reserve`, `start`, `release` and `logs` call the far
side. Each pod that has resources there is a `RemoteUnit`, which carries the gang and the pod as labels. So
a process that has just started finds everything again, and the same call twice changes nothing.

A failed call raises `ExecutorError` with one of four outcomes. `AMBIGUOUS` means that the far side
may have done it: the caller must look before it tries again, and never elsewhere.
"""

import enum
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import NamedTuple, Protocol

from backend_controllers.contract.declaration import PackLevels
from backend_controllers.contract.remote.api import RemotePod
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from shared_api.runtime.watching.channel import Channel


class Outcome(enum.StrEnum):
    """Why a call failed; the values are reasons in a RemoteGang's status."""

    CAPACITY = "NoCapacity"
    INVALID = "Invalid"
    """The far side will never accept it, such as an image that does not exist."""
    TRANSIENT = "Transient"
    """Nothing was done; it may succeed later."""
    AMBIGUOUS = "Ambiguous"
    """It is unknown whether it was done, such as after a connection that was lost."""


class ExecutorError(Exception):
    """A call that failed."""

    def __init__(self, outcome: Outcome, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.retry_after = retry_after
        """Seconds after which the same call makes sense again, if the far side knows it."""


class GangTag(NamedTuple):
    """The RemoteGang that a unit belongs to, as the far side stores it."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class RemoteUnit:
    """What the far side has for one pod."""

    tag: GangTag
    pod: str
    pod_uid: str
    host: str
    external_id: str
    state: RemoteMemberState = RemoteMemberState.RESERVED
    attempt: int = 0
    address: str = ""
    image: str = ""
    exit_code: int | None = None
    restarts: int = 0
    started_at: str = ""
    finished_at: str = ""
    message: str = ""


_DIGEST = "digest:"
_DIGEST_LENGTH = 6


def pod_digest(uid: str) -> str:
    """Return six characters for a pod's UID; for far sides that have no place for whole UIDs."""
    return urlsafe_b64encode(sha256(uid.encode()).digest()).decode()[:_DIGEST_LENGTH]


def unresolved(digest: str) -> str:
    """Return what stands for a pod's UID in a unit of which only the digest is known."""
    return f"{_DIGEST}{digest}"


def identified(units: tuple[RemoteUnit, ...], pods: Iterable[RemotePod]) -> tuple[RemoteUnit, ...]:
    """Return units with the names and UIDs of their pods, where only digests were known.

    A unit whose pod is gone stays as it is, so it is released like any unit without a pod.
    """
    if not any(unit.pod_uid.startswith(_DIGEST) for unit in units):
        return units
    known = {unresolved(pod_digest(pod.metadata.uid)): pod.metadata for pod in pods}
    return tuple(
        replace(unit, pod=found.name, pod_uid=found.uid)
        if (found := known.get(unit.pod_uid)) is not None
        else unit
        for unit in units
    )


@dataclass(frozen=True, slots=True)
class Order:
    """Pods that get resources together or not at all."""

    tag: GangTag
    attempt: int
    pods: tuple[RemotePod, ...]
    ranks: Mapping[str, int]
    """The rank of every pod of the gang by name, also of those that have resources already."""
    pack: PackLevels = field(default_factory=PackLevels)
    grant_seconds: int = 300
    max_runtime_seconds: int = 0
    """The longest that the gang runs; 0 if that is not known."""
    reservation: str = ""
    """Name of the PodGang whose reservation is used."""


@dataclass(frozen=True, slots=True)
class HostOffer:
    """The resources of one host."""

    name: str
    total: Mapping[str, int]
    """By Kubernetes' resource name: cpu in thousandths, memory in bytes, others in pieces."""
    free: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    """Why it cannot be reached; empty if it can."""
    is_fenced: bool = False
    """Whether nothing runs there any more although it cannot be reached: all locks have expired."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which lines of the log are wanted."""

    follow: bool = False
    tail: int | None = None
    timestamps: bool = False
    since_seconds: int | None = None


class Executor(Protocol):
    """The far side of one backend."""

    changed: Channel[ObjectKey]
    """Sent with namespace and name of every gang whose units changed."""

    async def run(self) -> None:
        """Observe the far side until cancelled."""
        ...

    async def wait_synced(self) -> None:
        """Wait until every host was observed once, or is known to be unreachable."""
        ...

    def hosts(self) -> tuple[HostOffer, ...]:
        """The hosts, as they were last observed."""
        ...

    def units(self, gang: ObjectKey) -> tuple[RemoteUnit, ...]:
        """What exists for gangs of this name. Units of an unreachable host are UNKNOWN."""
        ...

    def gangs(self) -> tuple[ObjectKey, ...]:
        """All gangs for which something exists."""
        ...

    def loss(self, gang: ObjectKey) -> str:
        """Why pods of a gang of this name have nothing any more that had something; may be empty."""
        ...

    async def reserve(self, order: Order) -> None:
        """Get resources for all pods of an order, or for none of them. Nothing starts."""
        ...

    async def start(self, units: tuple[RemoteUnit, ...]) -> None:
        """Start units that are reserved."""
        ...

    async def release(self, units: tuple[RemoteUnit, ...], grace_seconds: int = 0) -> None:
        """Stop and remove units. It succeeds if they are gone already."""
        ...

    def logs(self, unit: RemoteUnit, options: LogOptions) -> AsyncIterator[bytes]:
        """The log of a unit, in pieces as they arrive."""
        ...

    async def renew(self) -> None:
        """Extend the locks without which a far side ends what runs there; only a leader calls it."""
        ...
