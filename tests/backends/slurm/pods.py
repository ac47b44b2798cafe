"""Pods as the executor gets them."""

from typing import Any

import msgspec

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.slurm.mapping import QUEUE_LABEL
from backend_controllers.slurm.runners import HOST_IMAGE


def slurm_pod(name: str, command: str = "sleep 600", **fields: Any) -> RemotePod:
    """A pod that runs a shell script on a node."""
    requests = {"cpu": fields.pop("cpu", "1"), "memory": fields.pop("memory", "100Mi")}
    if gpus := fields.pop("gpus", 0):
        requests["nvidia.com/gpu"] = str(gpus)
    labels = {"role": "w", QUEUE_LABEL: fields.pop("queue", "all")}
    container = {
        "name": "main",
        "image": HOST_IMAGE,
        "command": fields.pop("command_words", ["sh", "-c", command]),
        "resources": {"requests": requests},
        "env": fields.pop("env", []),
    }
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", "labels": labels}
    spec = {"containers": [container], "restartPolicy": "Never", **fields}
    return msgspec.convert({"metadata": metadata, "spec": spec}, RemotePod)
