"""A pod as the agent runs it, and what the agent reports as a unit. Both are pure functions.

A report comes from a host, so each of its fields is checked; a report that is malformed is no unit.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from backend_controllers.contract.remote.environment import expanded
from backend_controllers.contract.remote.executor import GangTag, Order, RemoteUnit
from backend_controllers.contract.remote.unsupported import unsupported
from backend_controllers.hosts.places import HostUse, Place
from backend_controllers.ssh.options import SshOptions
from shared_api.models import RemoteMemberState

HOST_IMAGE = "host"
"""What pods name as their image, since there is none."""
_PATH = "/usr/local/bin:/usr/bin:/bin"
_STATES = {"Running": RemoteMemberState.RUNNING, "Exited": RemoteMemberState.EXITED}

Json = dict[str, object]


class UnitTag(msgspec.Struct, frozen=True, rename="camel"):
    """Whose unit it is, as the host stores it."""

    namespace: str
    gang: str
    gang_uid: str
    attempt: int
    pod: str
    pod_uid: str
    requests: dict[str, int] = {}
    devices: tuple[str, ...] = ()


class UnitReport(msgspec.Struct, frozen=True):
    """What an agent reports about a unit."""

    name: str
    tag: UnitTag
    state: str = ""
    code: int | None = None
    restarts: int = 0
    started: str = ""
    finished: str = ""
    message: str = ""


def refusals(allowed: Sequence[str], template: Mapping[str, object]) -> Iterator[str]:
    """Yield what a host without an engine cannot honour of a pod template."""
    yield from unsupported(template)
    containers = template.get("containers")
    for place, container in enumerate(containers if isinstance(containers, Sequence) else ()):
        if isinstance(container, Mapping):
            path = f"podSpec.containers[{place}]"
            if container.get("image") != HOST_IMAGE:
                yield (
                    f"{path}.image: '{container.get('image')}' is not used on a host without an"
                    f" engine. Write the image {HOST_IMAGE}"
                )
            command = container.get("command")
            parts = command if isinstance(command, Sequence) else ()
            if refusal := command_refusal(str(parts[0]) if parts else "", allowed):
                yield f"{path}.command: {refusal}"


def command_refusal(program: str, allowed: Sequence[str]) -> str:
    """Return why a program may not run; empty if it may."""
    # A reference to a variable, or a path that leaves its directory, would be any program; `env`
    # would read a word with "=" as a variable.
    is_plain = ".." not in PurePosixPath(program).parts and not {"$", "="} & set(program)
    if is_plain and any(program.startswith(prefix) for prefix in allowed):
        return ""
    listed = ", ".join(allowed) or "none; set options.commands"
    return f"'{program}' is not allowed (allowed beginnings: {listed})"


def unit_name(pod_uid: str) -> str:
    """Return the name of a pod's unit; a host has no second one of this name."""
    return f"pod-{pod_uid}"


def name_on_host(unit: RemoteUnit) -> str:
    """Return the name of a unit on its host."""
    return unit.external_id.partition("/")[2]


def spec_of(order: Order, place: Place, options: SshOptions) -> Json:
    """Return what the agent needs to run a pod."""
    pod = place.pod
    container = pod.spec.containers[0]
    name = unit_name(pod.metadata.uid)
    variables = {"PATH": _PATH, "LANG": "C.UTF-8", **place.variables}
    if place.devices:
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(place.devices)
    tag = UnitTag(
        order.tag.namespace,
        order.tag.name,
        order.tag.uid,
        order.attempt,
        pod.metadata.name,
        pod.metadata.uid,
        dict(place.demand.requests),
        tuple(place.devices),
    )
    return {
        "name": name,
        "tag": msgspec.to_builtins(tag),
        "command": [expanded(word, variables) for word in (*container.command, *container.args)],
        "env": variables,
        "directory": container.working_dir,
        "user": options.run_as,
        "restart": pod.spec.restart_policy,
        "cpu": place.demand.requests.get("cpu", 0),
        "memory": place.demand.requests.get("memory", 0),
        "grantSeconds": order.grant_seconds,
    }


def unit_of(report: object, host: str, address: str) -> tuple[RemoteUnit, HostUse] | None:
    """Return the unit that an agent reports, and what it holds; None if the report is malformed."""
    try:
        found = msgspec.convert(report, UnitReport)
    except msgspec.ValidationError:
        return None
    tag = found.tag
    if found.name != unit_name(tag.pod_uid):
        return None
    unit = RemoteUnit(
        GangTag(tag.namespace, tag.gang, tag.gang_uid),
        tag.pod,
        tag.pod_uid,
        host,
        f"{host}/{found.name}",
        _STATES.get(found.state, RemoteMemberState.RESERVED),
        tag.attempt,
        address,
        "",
        found.code,
        found.restarts,
        found.started,
        found.finished,
        found.message,
    )
    return unit, HostUse(tag.requests, tag.devices)
