"""A pod as a container of an engine, and a container as a unit. Both are pure functions.

Containers carry the gang and the pod as labels, so everything is found again after a restart. They
get no additional rights: no privileges, no host mounts, no socket of the engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.environment import environment, expanded
from backend_controllers.contract.remote.executor import GangTag, RemoteUnit
from backend_controllers.docker.options import GangNetwork
from backend_controllers.docker.packing import HostDemand
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


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a pod runs in its gang."""

    rank: int
    addresses: Sequence[str]
    """The addresses of all members, in the order of their ranks."""
    devices: Sequence[str] = ()
    """The GPUs that it gets."""
    network: GangNetwork = GangNetwork.HOST
    network_name: str = ""


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
    pod: RemotePod, demand: HostDemand, labels: Mapping[str, str], slot: Slot
) -> Json:
    """Return the container of a pod, as the engine's API creates it."""
    container = pod.spec.containers[0]
    variables = environment(pod, slot.rank, len(slot.addresses), ",".join(slot.addresses))
    host: Json = {
        "NetworkMode": "host" if slot.network is GangNetwork.HOST else slot.network_name,
        "RestartPolicy": {"Name": _RESTART.get(pod.spec.restart_policy, "no")},
        "Privileged": False,
        "SecurityOpt": ["no-new-privileges"],
        "NanoCpus": demand.requests.get("cpu", 0) * 1_000_000,
        "Memory": demand.requests.get("memory", 0),
        "ReadonlyRootfs": container.security_context.read_only_root_filesystem,
        "CapDrop": list(container.security_context.capabilities.drop),
    }
    if slot.devices:
        host["DeviceRequests"] = [
            {"Driver": "nvidia", "DeviceIDs": list(slot.devices), "Capabilities": [["gpu"]]}
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
    if slot.network is GangNetwork.BRIDGE:
        name = pod.spec.hostname or pod.metadata.name
        body["Hostname"] = name
        body["NetworkingConfig"] = {
            "EndpointsConfig": {slot.network_name: {"Aliases": [name, pod.metadata.name]}}
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


def unit_labels(grant: Grant, pod: RemotePod, demand: HostDemand, slot: Slot) -> dict[str, str]:
    """Return the labels that name the gang and the pod of a container."""
    tag = grant.tag
    return {
        **grant.origin.labels,
        LABEL_NAMESPACE: tag.namespace,
        LABEL_GANG: tag.name,
        LABEL_GANG_UID: tag.uid,
        LABEL_ATTEMPT: str(grant.attempt),
        LABEL_POD: pod.metadata.name,
        LABEL_POD_UID: pod.metadata.uid,
        LABEL_EXPIRES: str(grant.expires),
        LABEL_REQUESTS: msgspec.json.encode(demand.requests).decode(),
        LABEL_DEVICES: ",".join(slot.devices),
    }


def unit_of(shown: Mapping[str, object], host: str, address: str) -> RemoteUnit | None:
    """Return the unit of a container as the engine shows it; None for a foreign container."""
    config, state = _part(shown, "Config"), _part(shown, "State")
    labels = _part(config, "Labels")
    if LABEL_POD_UID not in labels:
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


class Held(NamedTuple):
    """What a container holds of its host."""

    requests: Mapping[str, int]
    devices: tuple[str, ...]
    expires: int


def held_by(shown: Mapping[str, object]) -> Held:
    """Return what a container of ours holds, from its labels."""
    labels = _part(_part(shown, "Config"), "Labels")
    try:
        requests = msgspec.json.decode(str(labels.get(LABEL_REQUESTS, "{}")), type=dict[str, int])
    except msgspec.MsgspecError:
        requests = {}
    devices = tuple(filter(None, str(labels.get(LABEL_DEVICES, "")).split(",")))
    expires = str(labels.get(LABEL_EXPIRES, ""))
    return Held(requests, devices, int(expires) if expires.isdecimal() else 0)


def _part(value: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _time(value: object) -> str:
    """A time to the second, as pods have it; the engine writes year 1 for none."""
    text = str(value or "")
    return "" if text.startswith("0001-") or len(text) < 19 else f"{text[:19]}Z"
