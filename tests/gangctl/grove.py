"""The objects of `grove_objects.yaml` as a snapshot of a cluster without SchedulerBackends."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from gangctl.snapshot import ListedPod, Snapshot
from shared_api.kube.codec import LooseObject
from tests.gangctl.scene import NOW, node

FILE = Path(__file__).parent / "grove_objects.yaml"
NOT_SERVED = {"schedulerbackends": "the server could not find the requested resource"}


def grove_objects(kind: str) -> list[dict[str, Any]]:
    """Return the stored objects of one kind."""
    return [item for item in yaml.safe_load(FILE.read_text()) if item["kind"] == kind]


def grove_snapshot(**changed: Any) -> Snapshot:
    """Return the cluster: one node with eight GPUs, all of them used."""
    parts: dict[str, Any] = {
        "sets": _read(LooseObject, "PodCliqueSet"),
        "cliques": _read(LooseObject, "PodClique"),
        "gangs": _read(LooseObject, "PodGang"),
        "pods": _read(ListedPod, "Pod"),
        "nodes": [node(0)],
        "unread": NOT_SERVED,
    }
    return Snapshot(NOW, **{**parts, **changed})


def _read(into: type[Any], kind: str) -> list[Any]:
    return [msgspec.convert(item, into, strict=False) for item in grove_objects(kind)]
