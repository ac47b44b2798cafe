"""Pods and orders as an executor gets them."""

from typing import Any

import msgspec

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import GangTag, Order
from tests.backends.docker.engines import IMAGE


def remote_pod(name: str, command: str = "sleep 600", **fields: Any) -> RemotePod:
    """A pod of one container that asks for half a CPU."""
    container = {
        "name": "main",
        "image": fields.pop("image", IMAGE),
        "command": ["sh", "-c", command],
        "resources": {"requests": {"cpu": fields.pop("cpu", "500m"), "memory": "32Mi"}},
        "env": fields.pop("env", []),
    }
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", "labels": {"role": "w"}}
    spec = {"containers": [container], "restartPolicy": "Never", **fields}
    return msgspec.convert({"metadata": metadata, "spec": spec}, RemotePod)


def order(*pods: RemotePod, gang: str = "train", attempt: int = 1, **fields: Any) -> Order:
    """An order for these pods; ranks follow their order."""
    ranks = {pod.metadata.name: rank for rank, pod in enumerate(pods)}
    return Order(GangTag("team", gang, f"uid-{gang}"), attempt, pods, ranks, **fields)
