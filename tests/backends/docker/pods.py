"""Pods as an executor gets them."""

from typing import Any

import msgspec

from backend_controllers.contract.remote.api import RemotePod
from tests.backends.docker.engines import IMAGE


def remote_pod(name: str, command: str = "sleep 600", **fields: Any) -> RemotePod:
    """A pod of one container that asks for half a CPU."""
    container = {
        "name": "main",
        "image": fields.pop("image", IMAGE),
        "command": [fields.pop("shell", "sh"), "-c", command],
        "resources": {"requests": {"cpu": fields.pop("cpu", "500m"), "memory": "32Mi"}},
        "env": fields.pop("env", []),
        "securityContext": fields.pop("security", {}),
    }
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", "labels": {"role": "w"}}
    spec = {"containers": [container], "restartPolicy": "Never", **fields}
    return msgspec.convert({"metadata": metadata, "spec": spec}, RemotePod)
