"""What a scheduler beside kube-scheduler has to declare."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local_cluster.api import Object
from local_cluster.components import Component, Ports

Started = Callable[[Path, Path, Ports], tuple[Component, ...]]


@dataclass(frozen=True, slots=True)
class ExtraScheduler:
    """One scheduler: its build, the CRDs and objects it needs first, and its processes."""

    name: str
    build: str
    crds: tuple[str, ...]
    """File names among the build's assets; they must be established before it starts."""
    objects: tuple[tuple[str, dict[str, Any]], ...]
    """(collection path, manifest) of what it needs to find."""
    components: Started
    """Called with the directory of programs, the kubeconfig and the ports."""
    ready_message: dict[str, str]
    """Log message of each component once it works."""
    files: Mapping[str, str] = field(default_factory=dict)
    """By path below the cluster's directory: what its programs read; `{kubeconfig}` is filled in."""
    ready_objects: tuple[tuple[str, Callable[[Object], bool]], ...] = ()
    """(collection path, condition): what one of the objects there is like once it works."""
    fixed_ports: tuple[int, ...] = ()
    """Ports that cannot be changed, so only one instance can run."""
