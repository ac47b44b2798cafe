"""A pod as a container of an engine, and a container as a unit. Both are pure functions.

Containers carry the gang and the pod as labels, so everything is found again after a restart. They
get no additional rights: no privileges, no host mounts, no socket of the engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.environment import expanded
from backend_controllers.contract.remote.executor import GangTag, RemoteUnit
from backend_controllers.hosts.places import HostUse, Place
from shared_api.models import RemoteMemberState

_PREFIX = "io.grove.podgang"
LABEL_CLUSTER = f"{_PREFIX}.cluster"
LABEL_BACKEND = f"{_PREFIX}.backend"
LABEL_NAMESPACE = f"{_PREFIX}.namespace"
LABEL_GANG = f"{_PREFIX}.gang"
LABEL_GANG_UID = f"{_PREFIX}.remotegang-uid"
LABEL_ATTEMPT = f"{_PREFIX}.attempt"
LABEL_POD = f"{_PREFIX}.pod"
LABEL_POD_UID = f"{_PREFIX}.pod-uid"
LABEL_EXPIRES = f"{_PREFIX}.expires"
"""When a container that was not started is removed, in seconds since 1970."""
LABEL_REQUESTS = f"{_PREFIX}.requests"
"""What the pod requests, as JSON: the sum over all containers is what a host has given away."""
LABEL_DEVICES = f"{_PREFIX}.devices"

RESTRICTIONS = frozenset(
    {"runAsUser", "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem", "capabilities"}
)
"""Fields of a securityContext that an engine enforces."""

_MOST_PROCESSES = 16384
"""In one container; more would take process IDs from the host."""

Json = dict[str, object]
_RESTART = {"Always": "unless-stopped", "OnFailure": "on-failure", "Never": "no"}
_STATES = {
    "created": RemoteMemberState.RESERVED,
    # Podman's name for the same state.
    "configured": RemoteMemberState.RESERVED,
    "initialized": RemoteMemberState.RESERVED,
    "running": RemoteMemberState.RUNNING,
    "paused": RemoteMemberState.RUNNING,
    "restarting": RemoteMemberState.EXITED,
    "removing": RemoteMemberState.EXITED,
    "exited": RemoteMemberState.EXITED,
    "stopped": RemoteMemberState.EXITED,
    "dead": RemoteMemberState.EXITED,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose containers these are."""

    cluster: str
    backend: str

    @property
    def labels(self) -> dict[str, str]:
        """The labels of all containers of this backend."""
        return {LABEL_CLUSTER: self.cluster, LABEL_BACKEND: self.backend}


def image_refusal(image: str, prefixes: Sequence[str]) -> str:
    """Return why an image may not run; empty if it may."""
    if any(image.startswith(prefix) for prefix in prefixes):
        return ""
    allowed = ", ".join(prefixes) or "none; set options.imagePrefixes"
    return f"'{image}' is not allowed (allowed prefixes: {allowed})"


def container_name(pod: RemotePod) -> str:
    """Return the name of a pod's container; the engine refuses a second one of this name."""
    return f"podgang-{pod.metadata.uid}"


def container_body(
    place: Place, labels: Mapping[str, str], most_memory: int = 0, network: str = ""
) -> Json:
    """Return the container of a pod, as the engine's API creates it.

    `network` is the network of the gang; without one the container uses that of its host. A pod
    that requests no memory may use `most_memory`.
    """
    pod, requests, variables = place.pod, place.demand.requests, place.variables
    container = pod.spec.containers[0]
    memory = requests.get("memory", 0) or most_memory
    host: Json = {
        "NetworkMode": network or "host",
        "RestartPolicy": {"Name": _RESTART.get(pod.spec.restart_policy, "no")},
        "Privileged": False,
        "SecurityOpt": ["no-new-privileges"],
        "NanoCpus": requests.get("cpu", 0) * 1_000_000,
        "Memory": memory,
        # Without it an engine allows as much swap again.
        "MemorySwap": memory,
        "PidsLimit": _MOST_PROCESSES,
        "ReadonlyRootfs": container.security_context.read_only_root_filesystem,
        "CapDrop": list(container.security_context.capabilities.drop),
    }
    if place.devices:
        host["DeviceRequests"] = [
            {"Driver": "nvidia", "DeviceIDs": list(place.devices), "Capabilities": [["gpu"]]}
        ]
    body: Json = {
        "Image": container.image,
        "Env": [f"{name}={value}" for name, value in variables.items()],
        "Labels": dict(labels),
        "HostConfig": host,
        "StopTimeout": pod.spec.termination_grace_period_seconds,
    }
    if container.command:
        body["Entrypoint"] = [expanded(part, variables) for part in container.command]
    if container.args:
        body["Cmd"] = [expanded(part, variables) for part in container.args]
    if user := _user(pod):
        body["User"] = user
    if container.working_dir:
        body["WorkingDir"] = container.working_dir
    if network:
        name = pod.spec.hostname or pod.metadata.name
        body["Hostname"] = name
        body["NetworkingConfig"] = {
            "EndpointsConfig": {network: {"Aliases": [name, pod.metadata.name]}}
        }
    return body


def _user(pod: RemotePod) -> str:
    """Return user and group in the form of the engine; empty for those of the image."""
    own, shared = pod.spec.containers[0].security_context, pod.spec.security_context
    user = shared.run_as_user if own.run_as_user is None else own.run_as_user
    group = shared.run_as_group if own.run_as_group is None else own.run_as_group
    if group is None:
        return "" if user is None else str(user)
    return f"{0 if user is None else user}:{group}"


@dataclass(frozen=True, slots=True)
class Grant:
    """The gang and the attempt that a container is created for, and when it expires."""

    origin: Origin
    tag: GangTag
    attempt: int
    expires: int


def unit_labels(grant: Grant, place: Place) -> dict[str, str]:
    """Return the labels that name the gang and the pod of a container."""
    tag, pod = grant.tag, place.pod
    return {
        **grant.origin.labels,
        LABEL_NAMESPACE: tag.namespace,
        LABEL_GANG: tag.name,
        LABEL_GANG_UID: tag.uid,
        LABEL_ATTEMPT: str(grant.attempt),
        LABEL_POD: pod.metadata.name,
        LABEL_POD_UID: pod.metadata.uid,
        LABEL_EXPIRES: str(grant.expires),
        LABEL_REQUESTS: msgspec.json.encode(place.demand.requests).decode(),
        LABEL_DEVICES: ",".join(place.devices),
    }


def unit_of(
    shown: Mapping[str, object], origin: Origin, host: str, address: str
) -> RemoteUnit | None:
    """Return the unit of a container as the engine shows it; None for a foreign container."""
    config, state = _part(shown, "Config"), _part(shown, "State")
    labels = _part(config, "Labels")
    if LABEL_POD_UID not in labels or not origin.labels.items() <= labels.items():
        return None
    text = {key: str(value) for key, value in labels.items()}
    found = _STATES.get(str(state.get("Status", "")).lower(), RemoteMemberState.UNKNOWN)
    has_ended = found is RemoteMemberState.EXITED
    code = state.get("ExitCode")
    restarts = shown.get("RestartCount")
    attempt = text.get(LABEL_ATTEMPT, "")
    return RemoteUnit(
        GangTag(
            text.get(LABEL_NAMESPACE, ""), text.get(LABEL_GANG, ""), text.get(LABEL_GANG_UID, "")
        ),
        text.get(LABEL_POD, ""),
        text[LABEL_POD_UID],
        host,
        str(shown.get("Id", ""))[:12],
        found,
        int(attempt) if attempt.isdecimal() else 0,
        address,
        str(shown.get("Image", "")),
        code if has_ended and isinstance(code, int) else None,
        restarts if isinstance(restarts, int) else 0,
        _time(state.get("StartedAt")),
        _time(state.get("FinishedAt")) if has_ended else "",
        "OOMKilled" if state.get("OOMKilled") else str(state.get("Error") or ""),
    )


def use_of(shown: Mapping[str, object]) -> HostUse:
    """Return what a container of ours holds, from its labels."""
    labels = _part(_part(shown, "Config"), "Labels")
    try:
        requests = msgspec.json.decode(str(labels.get(LABEL_REQUESTS, "{}")), type=dict[str, int])
    except msgspec.MsgspecError:
        requests = {}
    devices = tuple(filter(None, str(labels.get(LABEL_DEVICES, "")).split(",")))
    expires = str(labels.get(LABEL_EXPIRES, ""))
    return HostUse(requests, devices, int(expires) if expires.isdecimal() else 0)


def _part(value: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _time(value: object) -> str:
    """A time to the second, as pods have it; the engine writes year 1 for none."""
    text = str(value or "")
    return "" if text.startswith("0001-") or len(text) < 19 else f"{text[:19]}Z"
