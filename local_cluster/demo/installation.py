"""Installs the product's manifests from the repository on the node that runs processes.

These are the manifests for every cluster. Nothing of the product is imported, so this package
without the repository has no demo.
"""

import json
from pathlib import Path

import yaml

from local_cluster.demo.narration import Narrator
from local_cluster.errors import ClusterError
from local_cluster.process_node.placement import place_on_process_node

NAMESPACE = "grove-system"
SAMPLES = "docs/samples"
BACKENDS = ("default", "kai")
_PARTS = {
    "core-operator": "deploy/core",
    **{f"backend-{name}": f"deploy/backends/{name}" for name in BACKENDS},
}
_TIMEOUT = "--timeout=120s"


def repository() -> Path:
    """Return the root of the repository, which contains this package."""
    root = Path(__file__).parents[2]
    if not all((root / folder).is_dir() for folder in (*_PARTS.values(), SAMPLES)):
        raise ClusterError(
            f"the demo needs deploy/ and {SAMPLES}/ of the repository, which are not part of this"
            " package",
            "Clone it and run `make demo` there",
        )
    return root


def install(narrator: Narrator) -> None:
    """Apply core and the backends, and wait until all are available."""
    lines = []
    for folder in _PARTS.values():
        listing = _placed(narrator, folder)
        narrator.kubectl("apply", "--server-side", "-f", "-", input=listing)
        lines.append(f"$ kubectl apply --server-side -k {folder}")
    narrator.say(
        "\n".join(
            [
                *lines,
                "(as on any cluster, but with their pods on the node that runs processes)",
            ]
        )
    )
    for deployment in _PARTS:
        place = f"--namespace={NAMESPACE}"
        narrator.kubectl("rollout", "status", f"deployment/{deployment}", place, _TIMEOUT)
    records = [f"schedulerbackend/{name}" for name in BACKENDS]
    narrator.kubectl("wait", *records, "--for=condition=Available", _TIMEOUT)


def _placed(narrator: Narrator, folder: str) -> str:
    rendered = narrator.kubectl("kustomize", str(narrator.root / folder))
    items = [place_on_process_node(item) for item in yaml.safe_load_all(rendered) if item]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
