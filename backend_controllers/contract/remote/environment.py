"""The environment of a pod on a far side, computed as a kubelet does it. Pure.

Beside what the pod's own variables there are three variables of ours: rank, size and the addresses of
all members.
"""

import re
from collections.abc import Mapping

from backend_controllers.contract.remote.api import EnvVar, RemotePod

ENV_RANK = "GROVE_PODGANG_RANK"
ENV_SIZE = "GROVE_PODGANG_SIZE"
ENV_ADDRESSES = "GROVE_PODGANG_ADDRESSES"

_REFERENCE = re.compile(r"\$?\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")


def environment(pod: RemotePod, rank: int, size: int, addresses: str) -> dict[str, str]:
    """Return all variables of a pod; addresses are those of all members by rank, with commas."""
    variables = {
        ENV_RANK: str(rank),
        ENV_SIZE: str(size),
        ENV_ADDRESSES: addresses,
    }
    for variable in pod.spec.containers[0].env:
        variables[variable.name] = expanded(_value(pod, variable), variables)
    return variables


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` as a kubelet does: unknown names stay, and `$$(NAME)` is an escape."""

    def replaced(match: re.Match[str]) -> str:
        if match[0].startswith("$$"):
            return match[0][1:]
        return variables.get(match[1], match[0])

    return _REFERENCE.sub(replaced, text)


def _value(pod: RemotePod, variable: EnvVar) -> str:
    source = variable.value_from
    if source is None or source.field_ref is None:
        return variable.value
    path, metadata = source.field_ref.field_path, pod.metadata
    for kind, values in (("labels", metadata.labels), ("annotations", metadata.annotations)):
        if path.startswith(f"metadata.{kind}['"):
            return values.get(path.removeprefix(f"metadata.{kind}['").removesuffix("']"), "")
    known = {
        "metadata.name": metadata.name,
        "metadata.namespace": metadata.namespace,
        "metadata.uid": metadata.uid,
    }
    return known.get(path, "")
