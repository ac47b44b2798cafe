"""The settings of a backend controller: one YAML file, checked as a whole before anything starts.

Every setting has a default. Unknown keys are rejected, also among the options of the backend. The
reference page is generated from the docstrings here and from the options of every backend.
"""

from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from pydantic import BaseModel, Field, SerializeAsAny, ValidationError

from backend_controllers.contract.declaration import Options
from shared_api.models.compute import Currency, Money
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

__all__ = ["ServerSettings", "SettingsError"]

M = TypeVar("M", bound=BaseModel)


class BackendLeaderElection(Section):
    """Which replica is the leader. For core a backend is up while this Lease is renewed."""

    namespace: Label = "grove-system"
    """Namespace of the Lease."""

    name: Label | None = None
    """Name of the Lease. Default: `backend-` and the name of the backend."""

    deployment: Label | None = None
    """Deployment in the same namespace that runs the backend; messages name it. Default: the name of
    the Lease."""


class BackendConcurrency(Section):
    """How much is done at the same time."""

    pod_gangs: Workers = 24
    """Gangs that are translated and written at the same time."""

    statuses: Workers = 16
    """Statuses of gangs that are written at the same time."""

    requests: Workers = 16
    """Requests to the API server at the same time; watches do not count. More do not help on a busy
    server and leave less of it for other clients. They help if the server is far away or has slow
    webhooks."""


class BackendTiming(Section):
    """How long changes are debounced, and when work is repeated."""

    gather_seconds: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Wait after the first change of a gang before its status is computed, so that a burst of changes
    is one reconcile. While writes take longer than that, the wait is as long as a write, up to five times
    this setting."""

    reason_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 0.1
    """Wait before another reason for the same state is written, since it may pass."""

    progress_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 5.0
    """Wait before other numbers in a message are written. Another message of the scheduler waits only
    as long as another reason, if the status was not written for this time."""

    silent_after_seconds: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """After this, a gang that its scheduler could schedule and has not looked at is reported as
    SchedulerNotResponding."""

    refused_again_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Wait before an object is tried again that the server rejected as invalid. An admission policy
    rejects like a schema, and no event announces that it was corrected."""

    orphan_grace_seconds: Annotated[float, Field(ge=0, le=600)] = 5.0
    """Wait after a gang is gone before its objects are searched."""

    gc_seconds: Annotated[float, Field(ge=0, le=3600)] = 30.0
    """Time in which the garbage collector deletes the objects of a deleted gang; the backend deletes
    what is left after that."""

    sweep_seconds: Annotated[float, Field(gt=0, le=86400)] = 600.0
    """Time between two searches for objects whose gang is gone."""


class InstanceLocation(Section):
    """Where the machines of this instance are; what is absent is unknown."""

    region: Label | None = None
    """Region."""

    zone: Label | None = None
    """Zone."""

    datacenter: Label | None = None
    """Data center."""

    rack: Label | None = None
    """Rack."""


class InstancePrice(Section):
    """What the machines of this instance cost; what is absent is unknown and never free."""

    per_gpu_hour: Money | None = None
    """One GPU for an hour, as a decimal number in quotes."""

    per_cpu_hour: Money | None = None
    """One CPU core for an hour. Set it to "0" if the price of a GPU includes it."""

    currency: Currency = "USD"
    """Currency of both."""

    as_of: date | None = None
    """Day on which the price was read."""

    source: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """Where the price is from."""


class BackendInstance(Section):
    """What placement policies may know about this instance."""

    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the SchedulerBackend."""

    location: InstanceLocation | None = None
    """Where its machines are, if they are all in one place."""

    price: InstancePrice | None = None
    """What its machines cost."""


class BackendInventorySettings(Section):
    """The BackendInventory of this instance: its machines by shape."""

    enabled: bool = True
    """Publish it. It is written when the shapes of nodes change, at most once a minute."""

    node_selector: dict[str, str] = Field(default_factory=dict)
    """Labels of the nodes that this instance schedules to. Empty: all nodes."""


class LogCertificate(StrEnum):
    """Where the certificate of the kubelet endpoint is from."""

    SELF_SIGNED = "SelfSigned"
    """Made at start. API servers accept it unless they run with `--kubelet-certificate-authority`."""
    CLUSTER_SIGNED = "ClusterSigned"
    """Requested from the signer `kubernetes.io/kubelet-serving`. An administrator must approve each request."""


class BackendLogs(Section):
    """The endpoint that answers `kubectl logs`, as a kubelet does. Only backends whose hosts are outside
    of the cluster have it. The API server connects to it; no other client may."""

    enabled: bool = True
    """Serve logs."""

    port: Annotated[int, Field(ge=0, le=65535)] = 10250
    """Port to listen on; 0 takes any free one."""

    address: str | None = None
    """IP address to listen on, which the Node has in its status. Default: `server.host`, which a
    Deployment sets to the address of the pod."""

    certificate: LogCertificate = LogCertificate.SELF_SIGNED
    """Where its certificate is from: `SelfSigned` or `ClusterSigned`."""


class BackendSettings(Section):
    """The settings of one process."""

    logging: Logging = Field(default_factory=Logging)
    """Logs on standard error."""

    server: ServerSettings = Field(default_factory=ServerSettings)
    """Where /livez, /readyz and /metrics are served."""

    leader_election: BackendLeaderElection = Field(default_factory=BackendLeaderElection)
    """Which of several replicas is the leader."""

    concurrency: BackendConcurrency = Field(default_factory=BackendConcurrency)
    """How much is done at the same time."""

    timing: BackendTiming = Field(default_factory=BackendTiming)
    """How long changes are debounced, and when work is repeated."""

    instance: BackendInstance = Field(default_factory=BackendInstance)
    """What placement policies may know about this instance."""

    inventory: BackendInventorySettings = Field(default_factory=BackendInventorySettings)
    """The machines of this instance by shape."""

    logs: BackendLogs = Field(default_factory=BackendLogs)
    """The endpoint that answers `kubectl logs`."""

    options: SerializeAsAny[Options] = Field(default_factory=Options)
    """Settings that only this backend has."""


def load(path: Path, options: type[Options]) -> BackendSettings:
    """Read and check a file of settings for a backend with these options."""
    return from_file(path, lambda text: parse(text, options))


def parse(text: str, options: type[Options]) -> BackendSettings:
    """Check settings; the error names every wrong field by its path."""
    content = content_of(text)
    own = content.pop("options", None)
    problems: list[str] = []
    settings = _checked(BackendSettings, content, "", problems)
    chosen = _checked(options, {} if own is None else own, "options.", problems)
    if settings is None or chosen is None:
        raise SettingsError("; ".join(problems))
    return settings.model_copy(update={"options": chosen})


def defaults(options: type[Options]) -> BackendSettings:
    """The settings of a backend with these options when no file is given."""
    return parse("", options)


def _checked(model: type[M], content: object, path: str, problems: list[str]) -> M | None:
    try:
        # Strict: YAML has types, so the text "8080" is not a port. Through JSON, in which lists and
        # strings are accepted as tuples and enumerations.
        return model.model_validate_json(msgspec.json.encode(content), strict=True)
    except ValidationError as error:
        problems += problems_of(error, path)
        return None
