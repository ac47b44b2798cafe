"""YuniKorn: one process, which needs no CRDs; its configuration is a ConfigMap.

It listens on a fixed port on all interfaces, and continues without it if the port is in use, so the
port is checked before. Applications go to the queue that they name, and are rejected without one.
YuniKorn preempts only for a queue below its guarantee, so one queue is guaranteed all capacity, and
another is limited.
"""

import json
from pathlib import Path
from typing import Any

from local_cluster.components import Component, Ports
from local_cluster.schedulers.extra import ExtraScheduler

NAMESPACE = "yunikorn"
PORT = 9080
URGENT_QUEUE = "root.urgent"
QUEUE = "root.team"
SMALL_QUEUE = "root.small"

_EVERYTHING = {"vcore": "1000000", "memory": "1000000G"}
_QUEUES: dict[str, Any] = {
    "partitions": [
        {
            "name": "default",
            "placementrules": [{"name": "provided", "create": False}],
            "queues": [
                {
                    "name": "root",
                    "submitacl": "*",
                    "queues": [
                        {
                            "name": "urgent",
                            "resources": {"guaranteed": _EVERYTHING},
                            "properties": {"preemption.delay": "1s"},
                        },
                        {"name": "team"},
                        {"name": "small", "resources": {"max": {"vcore": "40"}}},
                    ],
                }
            ],
        }
    ]
}


def _configuration() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "yunikorn-configs"},
        "data": {
            "service.schedulingInterval": "100ms",
            "log.level": "INFO",
            # JSON is valid YAML.
            "queues.yaml": json.dumps(_QUEUES),
        },
    }


def _service() -> dict[str, Any]:
    """Return the Service of YuniKorn's chart, by which others find out that it is installed."""
    spec = {"clusterIP": "None", "ports": [{"name": "core", "port": PORT}]}
    metadata = {"name": "yunikorn-service"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _components(programs: Path, kubeconfig: Path, ports: Ports) -> tuple[Component, ...]:
    del ports  # It takes its own.
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "NAMESPACE": NAMESPACE,
        # Where these are set it would look for the credentials of a pod first.
        "KUBERNETES_SERVICE_HOST": "",
        "KUBERNETES_SERVICE_PORT": "",
    }
    return (Component("yunikorn-scheduler", (str(programs / "yunikorn-scheduler"),), environment),)


_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}

SCHEDULER = ExtraScheduler(
    name="yunikorn",
    build="yunikorn",
    crds=(),
    objects=(
        ("/api/v1/namespaces", _NAMESPACE),
        (f"/api/v1/namespaces/{NAMESPACE}/configmaps", _configuration()),
        (f"/api/v1/namespaces/{NAMESPACE}/services", _service()),
    ),
    components=_components,
    ready_message={"yunikorn-scheduler": "scheduler state initialized"},
    fixed_ports=(PORT,),
)
