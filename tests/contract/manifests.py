"""Small manifests to start from, and a way to change one place in them."""

import json
from typing import Any, Final

Manifest = dict[str, Any]

ABSENT: Final = object()
"""As a value in `changed`: take the field away."""


def clique(name: str, **spec: Any) -> Manifest:
    """One clique whose role is its name."""
    container = {"name": "main", "image": "registry.example.com/app:1"}
    return {
        "name": name,
        "spec": {"roleName": name, "podSpec": {"containers": [container]}, "replicas": 2, **spec},
    }


def pod_clique_set(*cliques: Manifest, name: str = "set", **template: Any) -> Manifest:
    """A PodCliqueSet of one replica."""
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 1, "template": {"cliques": list(cliques), **template}},
    }


def scaling_group(name: str, *clique_names: str, **config: Any) -> Manifest:
    """A scaling group of cliques."""
    return {"name": name, "cliqueNames": list(clique_names), **config}


def topology_binding(*levels: tuple[str, str], **spec: Any) -> Manifest:
    """A ClusterTopologyBinding of (domain, key) levels."""
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": "topology"},
        "spec": {"levels": [{"domain": d, "key": k} for d, k in levels], **spec},
    }


def pod_gang(*groups: str, name: str = "gang") -> Manifest:
    """A PodGang with a minimum of one pod in each group."""
    return {
        "apiVersion": "scheduler.grove.io/v1alpha1",
        "kind": "PodGang",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"podgroups": [{"name": g, "podReferences": [], "minReplicas": 1} for g in groups]},
    }


def scheduler_backend(**spec: Any) -> Manifest:
    """A SchedulerBackend with nothing but what is required."""
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "SchedulerBackend",
        "metadata": {"name": "example"},
        "spec": {
            "schedulerNames": ["example"],
            "preparation": {"mode": "Static"},
            "schedulingGate": "example.com/gate",
            **spec,
        },
    }


def changed(manifest: Manifest, edits: dict[str, Any]) -> Manifest:
    """A copy with the values at dotted paths replaced, added or (ABSENT) taken away."""
    # Not deepcopy: it would keep parts that the manifest holds twice one object.
    result: Manifest = json.loads(json.dumps(manifest))
    for path, value in edits.items():
        *parents, last = path.split(".")
        place: Any = result
        for step in parents:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        if isinstance(place, list):
            place[int(last)] = value
        elif value is ABSENT:
            place.pop(last)
        else:
            place[last] = value
    return result
