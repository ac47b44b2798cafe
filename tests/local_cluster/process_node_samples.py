"""Small pods and facts for the tests of the process node's pure parts."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from local_cluster.process_node.environment import Machine, PodFacts

NOON = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
MACHINE = Machine(python=Path("/venv/bin/python"), path="/usr/bin", server=("127.0.0.1", 6443))
ROOT = Path("/node/pods/uid-1/roots/main")


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "web-1",
            "namespace": "shop",
            "uid": "uid-1",
            "labels": {"app": "web", "tier": "front"},
            "annotations": {"example.com/note": 'a "b"\nc'},
        },
        "spec": {
            "nodeName": "process-node",
            "serviceAccountName": "seller",
            "containers": [{"name": "main", "command": ["run"]}],
            **spec,
        },
    }


def config_map(**data: str) -> dict[str, Any]:
    return {"metadata": {"name": "settings", "namespace": "shop"}, "data": data}


def facts(config_maps: Mapping[str, Any] | None = None, **spec: Any) -> PodFacts:
    return PodFacts(pod(**spec), "127.9.9.9", "127.0.0.1", config_maps or {}, MACHINE)
