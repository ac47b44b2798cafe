"""Kubeconfig files: writing the cluster's own, and taking one named context out of the user's.

The user's file is only ever read, and only when a context was named.
"""

import base64
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from local_cluster.certificates import Pair
from local_cluster.errors import ClusterError

_THROW_AWAY = ("kind-", "k3d-", "minikube", "local-")


def write_kubeconfig(file: Path, *, name: str, server: str, authority: Path, user: Pair) -> None:
    """Write a self-contained kubeconfig with one context."""
    cluster = {"server": server, "certificate-authority-data": _encoded(authority)}
    credentials = {
        "client-certificate-data": _encoded(user.certificate),
        "client-key-data": _encoded(user.key),
    }
    _write(file, name, cluster, credentials)


def extract_context(context: str, file: Path, *, sure: bool) -> None:
    """Copy one context of the user's kubeconfig to `file`, if its cluster is a test cluster."""
    source = Path(os.environ.get("KUBECONFIG", "").split(":")[0] or Path.home() / ".kube/config")
    if not source.exists():
        raise ClusterError(
            f"there is no kubeconfig at {source}", "Set KUBECONFIG to the file with the context"
        )
    config = yaml.safe_load(source.read_text()) or {}
    contexts = {entry["name"]: entry["context"] for entry in config.get("contexts") or []}
    if context not in contexts:
        known = ", ".join(sorted(contexts)) or "none"
        raise ClusterError(f"{source} has no context {context!r}", f"It has: {known}")
    chosen = contexts[context]
    cluster = _entry(config, "clusters", "cluster", chosen["cluster"], source)
    user = _entry(config, "users", "user", chosen["user"], source)
    host = urlsplit(cluster["server"]).hostname or ""
    local = host in ("localhost", "::1") or host.startswith("127.")
    if not sure and not (local and context.startswith(_THROW_AWAY)):
        raise ClusterError(
            f"context {context!r} ({cluster['server']}) does not look like a throw-away cluster",
            "Add --yes-this-cluster if nodes, CRDs and namespaces may be made and removed there",
        )
    _write(file, context, cluster, user)


def _entry(
    config: dict[str, Any], kind: str, field: str, name: str, source: Path
) -> dict[str, Any]:
    for entry in config.get(kind) or []:
        if entry["name"] == name:
            found = dict(entry[field])
            for key in ("certificate-authority", "client-certificate", "client-key"):
                if key in found:
                    found[key] = str((source.parent / found[key]).resolve())
            return found
    raise ClusterError(f"{source} names {kind[:-1]} {name!r} but does not hold it", "Fix the file")


def _write(file: Path, name: str, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
    }
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(config, sort_keys=False))


def _encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
