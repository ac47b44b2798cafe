"""Deployments and pods of tellers for the process node, and ways to talk to them."""

import http.client
import json
import socket
import urllib.parse
from pathlib import Path
from typing import Any

from local_cluster.cluster import Cluster
from local_cluster.process_node.placement import place_on_process_node
from local_cluster.waiting import wait_until

SCRIPT = str(Path(__file__).with_name("teller.py"))
PORT = 8080
SECONDS = 30.0

Object = dict[str, Any]


def teller(*arguments: str, **fields: Any) -> Object:
    """A container that runs the teller and is probed for readiness."""
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return {
        "name": "teller",
        "image": "example.com/none",
        "command": ["python", SCRIPT],
        "args": list(arguments),
        "ports": [{"name": "http", "containerPort": PORT}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 1},
        **fields,
        "env": [address, *fields.get("env", ())],
    }


def deployment(name: str, namespace: str, container: Object, **spec: Any) -> Object:
    labels = {"app": name}
    pod_spec = {"containers": [container], "terminationGracePeriodSeconds": 5, **spec}
    return place_on_process_node(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod_spec},
            },
        }
    )


def single_pod(name: str, namespace: str, **spec: Any) -> Object:
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
    spec = {"terminationGracePeriodSeconds": 5, **spec}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return place_on_process_node(manifest)


class Shop:
    """One namespace of a cluster."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self.namespace = namespace

    def apply(self, *manifests: Object) -> None:
        listing = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self._cluster.kubectl("apply", "-f", "-", input=json.dumps(listing))

    def kubectl(self, *arguments: str) -> str:
        return self._cluster.kubectl("-n", self.namespace, *arguments).stdout

    def pods(self, app: str, condition: Any) -> list[Object]:
        """The pods of an app, once the condition holds for the list of them."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        selector = f"app={app}"
        kubeconfig = self._cluster.kubeconfig
        found = wait_until(kubeconfig, path, condition, seconds=SECONDS, labelSelector=selector)
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def ready(self, app: str, count: int = 1) -> list[Object]:
        """The pods of an app, once there are `count`, all ready and none on its way out."""
        return self.pods(app, lambda pods: len(pods) == count and all(map(is_ready, pods)))

    def event(self, reason: str, text: str = "") -> Object:
        """An event of a reason, once there is one whose message has the text."""
        path = f"/api/v1/namespaces/{self.namespace}/events"

        def fitting(events: list[Object]) -> list[Object]:
            return [event for event in events if text in event["message"]]

        return fitting(
            wait_until(
                self._cluster.kubeconfig,
                path,
                lambda events: bool(fitting(events)),
                seconds=SECONDS,
                fieldSelector=f"reason={reason}",
            )
        )[0]


def is_ready(pod: Object) -> bool:
    """Whether a pod is ready and nobody deletes it."""
    conditions = pod.get("status", {}).get("conditions", ())
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def state_of(pod: Object) -> Object:
    """The status of a pod's only container; empty before there is one."""
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return statuses[0] if statuses else {}


def waiting(pod: Object) -> Object:
    """Why the only container of a pod does not run; empty when it does or is not known yet."""
    found: Object = state_of(pod).get("state", {}).get("waiting", {})
    return found


def ask(pod: Object, what: str, *, verb: str = "GET", **query: str) -> str:
    """Ask the teller of a pod."""
    connection = http.client.HTTPConnection(pod["status"]["podIP"], PORT, timeout=SECONDS)
    try:
        connection.request(verb, f"{what}?{urllib.parse.urlencode(query)}" if query else what)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def restarted_once(pods: list[Object]) -> bool:
    """Whether the only pod's container is ready again after one restart."""
    return (
        bool(pods) and state_of(pods[0])["restartCount"] == 1 and bool(state_of(pods[0])["ready"])
    )


class Pulse:
    """A connection that ends when the process of a pod does."""

    def __init__(self, pod: Object) -> None:
        self._socket = socket.create_connection((pod["status"]["podIP"], PORT), timeout=SECONDS)
        self._socket.sendall(b"GET /hold HTTP/1.1\r\nHost: pod\r\n\r\n")

    def __enter__(self) -> "Pulse":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def wait_for_end(self) -> None:
        """Return when the process is gone; raise when it stays."""
        try:
            assert self._socket.recv(1) == b""
        except ConnectionResetError:
            return
