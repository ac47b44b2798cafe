"""Reads what the kustomize bases render to, by component.

It owns the list of components, and runs `kubectl kustomize` for each. The result is what
`kubectl apply -k` sends; nothing is interpreted here.
"""

import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
CORE = "core"
CRDS = "crds"
BACKENDS = tuple(
    sorted(p.name for p in (ROOT / "deploy/backends").iterdir() if p.name != "base" and p.is_dir())
)
FAR_SIDES = ("docker", "slurm", "ssh")
"""Backends of places outside of the cluster: they need hosts and credentials."""

Manifest = dict[str, Any]


def components(kubectl: Path) -> dict[str, list[Manifest]]:
    """Return the manifests of every component of the chart."""
    found = {CRDS: _rendered(kubectl, "crds"), CORE: _rendered(kubectl, "deploy/core")}
    own = {_identity(manifest) for manifest in found[CRDS]}
    found[CORE] = [m for m in found[CORE] if _identity(m) not in own and m["kind"] != "Namespace"]
    for name in BACKENDS:
        found[f"backend-{name}"] = _rendered(kubectl, f"deploy/backends/{name}")
    found["policies"] = _rendered(kubectl, "deploy/policies")
    opted_in = (ROOT / "deploy/policies/opted-in/namespaces.yaml").read_text()
    found["namespaces"] = [manifest for manifest in yaml.safe_load_all(opted_in) if manifest]
    monitor = (ROOT / "deploy/components/service-monitor/service-monitor.yaml").read_text()
    found["service-monitor"] = [yaml.safe_load(monitor)]
    rules = (ROOT / "deploy/monitoring/rules/prometheusrule.yaml").read_text()
    found["prometheus-rule"] = [yaml.safe_load(rules)]
    return found


def _rendered(kubectl: Path, folder: str) -> list[Manifest]:
    done = subprocess.run(  # noqa: S603
        [str(kubectl), "kustomize", str(ROOT / folder)], check=True, capture_output=True, text=True
    )
    return [manifest for manifest in yaml.safe_load_all(done.stdout) if manifest]


def _identity(manifest: Manifest) -> tuple[str, str]:
    return manifest["kind"], manifest["metadata"]["name"]
