"""Changes manifests so that their pods are scheduled to the process node. Pure.

The product's manifests are the same as for a real cluster. Only their pods must run on the process
node, whose taint keeps other pods away. In a cluster of ours, annotations of the namespace do that,
so `kubectl apply -k` works. Elsewhere a manifest is changed before it is applied.
"""

import copy
import json

from local_cluster.api import Object

LABEL = "local-cluster/process-node"
TAINT: Object = {"key": LABEL, "effect": "NoSchedule"}
TOLERATION: Object = {"key": LABEL, "operator": "Exists", "effect": "NoSchedule"}

TEMPLATED = {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"}


def place_on_process_node(manifest: Object) -> Object:
    """The manifest with its pods, if it has any, bound for the process node."""
    placed = copy.deepcopy(manifest)
    spec = _pod_spec(placed)
    if spec is not None:
        spec["nodeSelector"] = {**spec.get("nodeSelector", {}), LABEL: "true"}
        tolerations = [t for t in spec.get("tolerations", ()) if t != TOLERATION]
        spec["tolerations"] = [*tolerations, TOLERATION]
    return placed


def dedicated_namespace(name: str) -> Object:
    """A namespace all of whose pods go to the process node.

    This is what the admission plugins PodNodeSelector and PodTolerationRestriction make of it.
    """
    annotations = {
        "scheduler.alpha.kubernetes.io/node-selector": f"{LABEL}=true",
        "scheduler.alpha.kubernetes.io/defaultTolerations": json.dumps([TOLERATION]),
    }
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _pod_spec(manifest: Object) -> Object | None:
    kind, spec = manifest.get("kind"), manifest.get("spec")
    if spec is None:
        return None
    if kind == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    if kind == "CronJob" or kind in TEMPLATED:
        spec = spec["template"]["spec"]
    elif kind != "Pod":
        return None
    found: Object = spec
    return found
