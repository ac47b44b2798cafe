"""The settings of the core operator: one YAML file, checked as a whole before anything starts.

Every setting has a default, so an empty file is valid. Unknown keys are rejected, since a misspelt
setting would otherwise be ignored silently. The reference page is generated from these docstrings.
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
    version,
)

__all__ = ["Section", "ServerSettings", "SettingsError"]

Seconds = Annotated[float, Field(gt=0, le=3600)]


IMAGE_OUTSIDE = f"podgang:{version()}"
"""The image for start-up order if core has no pod whose image it could be."""


class CoreLeaderElection(Section):
    """Which of several replicas is the leader. The standbys keep their caches up to date."""

    enabled: bool = True
    """Disable it only where there is a single process, such as on a laptop."""

    namespace: Label = "grove-system"
    """Namespace of the Lease."""

    name: Label = "core-operator"
    """Name of the Lease."""


class Backends(Section):
    """How backends are chosen and when they are down."""

    default: Label = "default"
    """Backend of sets that name neither a backend nor a scheduler."""

    default_policy: Annotated[str, Field(pattern=r"^[^/]+/[^/]+$", max_length=316)] | None = None
    """Namespace and name of the PlacementPolicy of sets that name neither a policy nor a backend, as
    `namespace/name`."""

    accepted: list[Label] = Field(default_factory=list)
    """Names of the backends that are accepted; empty: all. Another backend is never chosen, and its
    condition Available is False."""

    stale_after_seconds: Annotated[Seconds, Field(le=9)] = 6.0
    """A backend whose Lease was not renewed for so long is down; a shorter duration in the Lease
    itself wins. Below 10, the time in which the loss of a backend must be noticed."""


class CoreConcurrency(Section):
    """How many objects are reconciled at the same time."""

    pod_clique_sets: Workers = 4
    """PodCliqueSets whose children are written."""

    pod_cliques: Workers = 16
    """PodCliques whose pods are created and deleted."""

    pod_gangs: Workers = 16
    """PodGangs that are filled or released."""

    statuses: Workers = 8
    """Statuses that are written, for each kind."""

    writes: Workers = 32
    """Concurrent writes of the children of one object, and of the release of one gang."""

    requests: Workers = 16
    """Concurrent requests to the API server, without watches. More do not speed up a busy server, and
    leave less of it for others. They help if the server is far away or has slow webhooks."""


class CoreTiming(Section):
    """How long writes are debounced."""

    status_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 0.2
    """Delay between the first change and the write of a status, so that a burst is one write."""

    progress_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 1.0
    """The same for a status that only reports progress. Longer, up to 30, while many objects wait."""


class StartupOrder(Section):
    """The init container that keeps a pod from starting before its predecessors are ready."""

    image: Annotated[str, Field(min_length=1)] | None = None
    """Image of the init container; without one, that of core's own pod. Pods pull it with their own pull
    secrets, unless the node has it."""

    command: Annotated[list[str], Field(min_length=1)] = Field(
        default_factory=lambda: ["python", "-m", "startup_wait"]
    )
    """Its command. The path of a file is appended; the command ends once the file has `cleared`."""

    run_as_user: Annotated[int, Field(ge=0)] = 65532
    """User ID of the init container, also if the pod sets another; 0: not set."""


class Network(Section):
    """The network between the nodes of a gang."""

    auto_mnnvl_enabled: Annotated[bool, Field(alias="autoMNNVLEnabled")] = False
    """Create ComputeDomains for cliques with GPUs that are annotated with a group. Needs the CRD of
    NVIDIA's DRA driver, and the permissions of `deploy/core/mnnvl`."""


class CoreSettings(Section):
    """The settings of one process."""

    logging: Logging = Field(default_factory=Logging)
    """The logs on standard error."""

    server: ServerSettings = Field(default_factory=ServerSettings)
    """Where /livez, /readyz and /metrics are served."""

    leader_election: CoreLeaderElection = Field(default_factory=CoreLeaderElection)
    """Which of several replicas is the leader."""

    backends: Backends = Field(default_factory=Backends)
    """How backends are chosen and when they are down."""

    concurrency: CoreConcurrency = Field(default_factory=CoreConcurrency)
    """How many objects are reconciled at the same time."""

    timing: CoreTiming = Field(default_factory=CoreTiming)
    """How long writes are debounced."""

    startup_order: StartupOrder = Field(default_factory=StartupOrder)
    """The init container that keeps a pod from starting before its predecessors are ready."""

    network: Network = Field(default_factory=Network)
    """The network between the nodes of a gang."""


def load(path: Path) -> CoreSettings:
    """Read and check a file of settings."""
    return from_file(path, parse)


def parse(text: str) -> CoreSettings:
    """Check settings; the error names every wrong field by its path."""
    try:
        # Strict: YAML has types already, so the text "8080" is not a port.
        return CoreSettings.model_validate(content_of(text), strict=True)
    except ValidationError as error:
        raise SettingsError("; ".join(problems_of(error))) from error
