"""Small workloads for real containers, and readers of what these did."""

import json
import subprocess
from pathlib import Path
from typing import Any

from local_cluster.cluster import Cluster
from local_cluster.container_node.machine import BUILD_PROGRAMS, NODE_PROGRAMS, why_not
from local_cluster.container_node.product_image import image_name
from local_cluster.waiting import wait_until
from tests.deploy.kit import NAMESPACE

ROOT = Path(__file__).parents[2]
PATIENCE = 240.0
"""Seconds for containers to start on a machine that is busy."""
BUSYBOX = "docker.io/library/busybox:stable"

Object = dict[str, Any]


def missing() -> str:
    """Return why this machine cannot build the image and run containers, or nothing if it can."""
    return why_not({**NODE_PROGRAMS, **BUILD_PROGRAMS})


def container(*command: str, image: str = BUSYBOX, **fields: Any) -> Object:
    """A container that the restricted Pod Security Standard permits."""
    return {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(command),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        **fields,
    }


def python(script: str, **fields: Any) -> Object:
    """A container that runs a script; the product's image has the interpreter."""
    mounts = [{"name": "scratch", "mountPath": "/tmp"}]
    return container("python", "-c", script, image=image_name(), volumeMounts=mounts, **fields)


def pod_spec(main: Object) -> Object:
    return {
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [main],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }


def podclique(name: str, replicas: int, main: Object, **fields: Any) -> Object:
    spec = {"roleName": name, "replicas": replicas, "podSpec": pod_spec(main), **fields}
    return {"name": name, "spec": spec}


def podcliqueset(name: str, *cliques: Object, replicas: int = 1, **template: Any) -> Object:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "template": {"cliques": list(cliques), **template}},
    }


def apply(cluster: Cluster, space: str, *manifests: Object) -> None:
    for manifest in manifests:
        cluster.kubectl("apply", f"-n{space}", "-f", "-", input=json.dumps(manifest))


def until_ready(cluster: Cluster, space: str, *names: str, condition: str = "Ready") -> None:
    sets = [f"pcs/{name}" for name in names]
    timeout = f"--timeout={PATIENCE:.0f}s"
    done = cluster.kubectl(
        "wait", f"-n{space}", *sets, f"--for=condition={condition}", timeout, check=False
    )
    if done.returncode:
        listing = cluster.kubectl("get", "pcs,podgangs,pods", f"-n{space}", "-owide").stdout
        events = cluster.kubectl("get", "events", f"-n{space}").stdout
        raise AssertionError(f"{done.stderr}\n{listing}\n{events[-4000:]}")


def pods(cluster: Cluster, space: str, *selectors: str) -> list[Object]:
    text = cluster.kubectl("get", "pods", f"-n{space}", "-ojson", *selectors).stdout
    found: list[Object] = json.loads(text)["items"]
    return found


def logs(cluster: Cluster, space: str, pod: Object) -> str:
    return cluster.kubectl("logs", f"-n{space}", pod["metadata"]["name"], "-cmain").stdout


def first_line(cluster: Cluster, space: str, pod: Object) -> str:
    """Wait for the first line of a log: without a probe a pod may be ready before it is written."""
    program = [str(cluster.kubectl_program()), f"--kubeconfig={cluster.kubeconfig}"]
    command = [*program, "logs", "--follow", f"-n{space}", pod["metadata"]["name"], "-cmain"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        line = following.stdout.readline()
        following.terminate()
    return line


def until_message(cluster: Cluster, space: str, name: str, *words: str) -> str:
    """Wait until the condition Ready of a set has all these words; return its message."""

    def message(found: list[Object]) -> str:
        (conditions,) = (
            item.get("status", {}).get("conditions") or []
            for item in found
            if item["metadata"]["name"] == name
        )
        return next((c.get("message", "") for c in conditions if c["type"] == "Ready"), "")

    path = f"/apis/grove.io/v1alpha1/namespaces/{space}/podcliquesets"
    found = wait_until(
        cluster.kubeconfig,
        path,
        lambda items: all(word in message(items) for word in words),
        seconds=PATIENCE,
    )
    return message(found)


def until_rolled_out(cluster: Cluster) -> None:
    """Wait until every Deployment of the product has all its replicas."""
    text = cluster.kubectl("get", "deployments", f"-n{NAMESPACE}", "-oname").stdout
    for name in text.split():
        timeout = f"--timeout={PATIENCE:.0f}s"
        done = cluster.kubectl("rollout", "status", name, f"-n{NAMESPACE}", timeout, check=False)
        if done.returncode:
            listing = cluster.kubectl("get", "pods", f"-n{NAMESPACE}", "-owide").stdout
            printed = cluster.kubectl("logs", name, f"-n{NAMESPACE}", check=False).stdout
            raise AssertionError(f"{name}: {done.stderr}\n{listing}\n{printed[-4000:]}")
