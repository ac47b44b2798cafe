"""What the parts of the benchmark find out, as plain values. Times are in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.product.measures import Writes
from benchmarks.product.sightings import Delays


@dataclass(frozen=True, slots=True)
class Start:
    """How a set came up."""

    began: float
    """On the clock that all processes of the machine share."""
    exist: float
    released: float
    ready: float
    server_cpu: float
    """CPU seconds of the API server until the last gate was lifted."""
    others: float
    """The part of the machine that other programs had meanwhile."""
    cluster_cpu: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds of each part of the control plane until all were ready."""


@dataclass(frozen=True, slots=True)
class Used:
    """What a controller took for a piece of work."""

    writes: Writes
    refused: int
    """Of all its writes so far."""
    cpu: float
    memory: float
    """MiB at most, so far."""


@dataclass(frozen=True, slots=True)
class Served:
    """The backend's part in bringing a set up."""

    used: Used
    told: float
    """When every PodGang said that it is scheduled and ready."""
    delays: Delays


@dataclass(frozen=True, slots=True)
class Deployed:
    """The big set, made by the product."""

    start: Start
    uid: str
    core: Used
    backend: Served | None
    """Only where it is a real one."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """A new process beside a set that is in place."""

    synced: float
    settled_cpu: float
    writes: Writes
    caught_up: float = 0.0
    """When a backend had looked at every gang."""


@dataclass(frozen=True, slots=True)
class Burst:
    """A few gangs that came at once, and where to find what was written for them."""

    name: str
    """Of the set."""
    uid: str
    replicas: int
    """That the set has in the end."""
    pods: int
    """That were made and released."""
    began: float
    """On the clock that all processes of the machine share."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Scaled:
    """Halved, and doubled again."""

    replicas: int
    down: float
    up: Burst


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Gangs that came at a rate which leaves the API server room."""

    gangs: int
    delays: Delays
    server_share: float
    """CPU of the API server, in cores."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """Gangs that were made while no backend ran, from the start of one."""

    gangs: int
    programmed: float
    ready: float


@dataclass(frozen=True, slots=True)
class Deleted:
    """The big set, taken away."""

    seconds: float
    core: Writes
    backend: Writes


@dataclass(frozen=True, slots=True)
class InTurns:
    """Smaller sets, taken away with and without the product, in turns."""

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
class Backend:
    """What only a real backend can show."""

    restarted: Restarted
    one_by_one: OneByOne
    awaited: Awaited


@dataclass(frozen=True, slots=True)
class Replayed:
    """The big set, made by a client that only writes."""

    start: Start
    writes: int
    cpu: float
    bursts: Mapping[str, float]
    """How long the same writes took for some of the bursts, by the name of the set."""

    @property
    def cpu_per_write(self) -> float:
        """What one write costs a client that does nothing else, here and now."""
        return self.cpu / self.writes


@dataclass(frozen=True, slots=True)
class Product:
    """What the first cluster showed."""

    deployed: Deployed
    restarted: Restarted
    life: Life
    backend: Backend | None
    deleted_in_turns: InTurns
    others: Mapping[str, float]
    """The part of the machine that other programs had, by phase."""
