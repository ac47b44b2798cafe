"""The settings of the core operator: one YAML file, checked as a whole before anything starts.

Every setting has a default, so an empty file is a valid one. Unknown keys are refused, since a
misspelt setting that is silently ignored is the worst kind. The reference page is generated
from these models: what is said about a setting is said here.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from shared_api.runtime.configuration import (
    Label,
    Logging,
    Section,
    ServerSettings,
    SettingsError,
    Workers,
    content_of,
    from_file,
    problems_of,
)

__all__ = ["Section", "ServerSettings", "SettingsError"]

Seconds = Annotated[float, Field(gt=0, le=3600)]


class LeaderElection(Section):
    """Which of several replicas works. The others keep their caches warm."""

    enabled: bool = True
    """Off only where a single process is certain, such as on a laptop."""

    namespace: Label = "grove-system"
    """Namespace of the Lease."""

    name: Label = "core-operator"
    """Name of the Lease."""


class Backends(Section):
    """How backends are chosen and watched over."""

    default: Label = "default"
    """Backend of sets that name neither a backend nor a scheduler."""

    accepted: list[Label] = Field(default_factory=list)
    """Names of the backends whose records are used; empty: all. A record of another name is never
    chosen and says so in its condition Available."""

    stale_after_seconds: Annotated[Seconds, Field(le=9)] = 6.0
    """A backend whose Lease was not renewed for so long is unavailable; a Lease that asks for less
    gets less. Below 10, the time in which the loss of a backend must be seen."""


class Concurrency(Section):
    """How much is done at once."""

    pod_clique_sets: Workers = 4
    """Sets whose children are being made."""

    pod_cliques: Workers = 16
    """PodCliques whose pods are being made."""

    pod_gangs: Workers = 16
    """Gangs that are being filled or released."""

    statuses: Workers = 8
    """Statuses that are being written, for each kind."""

    writes: Workers = 32
    """Writes in flight for one object's children, and for one gang's release."""

    requests: Workers = 16
    """Requests to the API server at the same time; watches do not count. More make a busy server no
    faster, and leave less of it for others; far away or behind slow webhooks they help."""


class Timing(Section):
    """How long changes are gathered before they are written."""

    status_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 0.2
    """Wait after the first change before a status is written, so that a burst is one write."""

    progress_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 1.0
    """The same for a status that only says how far things have come. More, up to 30, while many
    come at once."""


class StartupOrder(Section):
    """The init container that keeps a pod from starting before its predecessors are ready."""

    image: Annotated[str, Field(min_length=1)] = "podgang:latest"
    """Image of the init container. Pods pull it with their own pull secrets, unless the node has it."""

    command: Annotated[list[str], Field(min_length=1)] = Field(
        default_factory=lambda: ["python", "-m", "core_operator.await_order"]
    )
    """What it runs. The path of a file is appended; the command ends once the file says `cleared`."""

    run_as_user: Annotated[int, Field(ge=0)] = 65532
    """User that it runs as, whatever the pod says; 0 leaves the choice to the image and the cluster."""


class Network(Section):
    """What is set up between the nodes of a gang."""

    auto_mnnvl_enabled: Annotated[bool, Field(alias="autoMNNVLEnabled")] = False
    """Make ComputeDomains for cliques with GPUs that are annotated with a group. Needs the CRD of
    NVIDIA's DRA driver, and the rights of `deploy/core/mnnvl`."""


class Settings(Section):
    """The settings of one process."""

    logging: Logging = Field(default_factory=Logging)
    """What is written to standard error."""

    server: ServerSettings = Field(default_factory=ServerSettings)
    """Where /livez, /readyz and /metrics are served."""

    leader_election: LeaderElection = Field(default_factory=LeaderElection)
    """Which of several replicas works."""

    backends: Backends = Field(default_factory=Backends)
    """How backends are chosen and watched over."""

    concurrency: Concurrency = Field(default_factory=Concurrency)
    """How much is done at once."""

    timing: Timing = Field(default_factory=Timing)
    """How long changes are gathered before they are written."""

    startup_order: StartupOrder = Field(default_factory=StartupOrder)
    """The init container that keeps a pod from starting before its predecessors are ready."""

    network: Network = Field(default_factory=Network)
    """What is set up between the nodes of a gang."""


def load(path: Path) -> Settings:
    """Read and check a file of settings."""
    return from_file(path, parse)


def parse(text: str) -> Settings:
    """Check settings; the error names every wrong field by its path."""
    try:
        # Strict: YAML has types already, so the text "8080" is not a port.
        return Settings.model_validate(content_of(text), strict=True)
    except ValidationError as error:
        raise SettingsError("; ".join(problems_of(error))) from error
