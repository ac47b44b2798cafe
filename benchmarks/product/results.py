"""Results of the parts of the benchmark. Times are in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.product.measures import Writes
from benchmarks.product.sightings import Delays


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a set."""

    began: float
    """On the monotonic clock of the machine."""
    exist: float
    released: float
    ready: float
    server_cpu: float
    """CPU seconds of the API server until the last pod was ungated."""
    others: float
    """The share of other programs in the machine's CPU."""
    cluster_cpu: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds of each part of the control plane until all were ready."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a controller used for a piece of work."""

    writes: Writes
    refused: int
    """Refused writes so far."""
    cpu: float
    memory: float
    """Peak memory in MiB so far."""


@dataclass(frozen=True, slots=True)
class ServingResults:
    """The backend's part in the start of a set."""

    used: Used
    reported: float
    """When every PodGang reported that it is scheduled and ready."""
    delays: Delays


@dataclass(frozen=True, slots=True)
class Deployed:
    """The big set, created by the product."""

    start: Start
    uid: str
    core: Used
    backend: ServingResults | None
    """Only for a real backend."""


@dataclass(frozen=True, slots=True)
class RestartResults:
    """A new process while the set exists."""

    synced: float
    settled_cpu: float
    writes: Writes
    caught_up: float = 0.0
    """When the backend had reconciled every gang."""


@dataclass(frozen=True, slots=True)
class Burst:
    """A few gangs that were created at once, and how to find their writes."""

    name: str
    """Of the set."""
    uid: str
    replicas: int
    """That the set has in the end."""
    pods: int
    """That were made and released."""
    began: float
    """On the monotonic clock of the machine."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Scaled:
    """A set that was scaled to half and back."""

    replicas: int
    down: float
    up: Burst


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Gangs at a rate that does not saturate the API server."""

    gangs: int
    delays: Delays
    server_share: float
    """CPU of the API server, in cores."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """Gangs that were created while the backend was down, from its start."""

    gangs: int
    programmed: float
    ready: float


@dataclass(frozen=True, slots=True)
class Deleted:
    """Deletion of the big set."""

    seconds: float
    core: Writes
    backend: Writes


@dataclass(frozen=True, slots=True)
class InTurns:
    """Deletion of smaller sets with and without the product, in turns."""

    replicas: int
    watched: tuple[float, ...]
    alone: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Life:
    """What happens to sets while both processes run."""

    deleted: Deleted
    tiny: tuple[Burst, ...]
    """First sets of ten pods."""
    scaled: tuple[Scaled, ...]


@dataclass(frozen=True, slots=True)
class BackendResults:
    """Results of a real backend."""

    restarted: RestartResults
    one_by_one: OneByOne
    awaited: Awaited


@dataclass(frozen=True, slots=True)
class Replayed:
    """The big set, created by a client that only writes."""

    start: Start
    writes: int
    cpu: float
    bursts: Mapping[str, float]
    """How long the same writes took for some of the bursts, by the name of the set."""

    @property
    def cpu_per_write(self) -> float:
        """CPU seconds of one write of a client that does nothing else."""
        return self.cpu / self.writes


@dataclass(frozen=True, slots=True)
class Product:
    """Results of the first cluster."""

    deployed: Deployed
    restarted: RestartResults
    life: Life
    backend: BackendResults | None
    deleted_in_turns: InTurns
    others: Mapping[str, float]
    """The part of the machine that other programs had, by phase."""
