"""Ready-made binaries that the user points at with KUBEBUILDER_ASSETS, instead of building."""

import os
import re
import subprocess
from pathlib import Path

from local_cluster.building.programs import CONTROL_PLANE_PROGRAMS
from local_cluster.errors import ClusterError
from local_cluster.versions import Minor

_VARIABLE = "KUBEBUILDER_ASSETS"


def assets_from_environment(minor: Minor) -> Path | None:
    """Return the user's directory of binaries, or None when the variable is not set."""
    value = os.environ.get(_VARIABLE)
    if not value:
        return None
    directory = Path(value).absolute()
    instead = f"Unset {_VARIABLE} to build them from source"
    missing = [name for name in CONTROL_PLANE_PROGRAMS if not (directory / name).exists()]
    if missing:
        raise ClusterError(f"{_VARIABLE}={value} has no {', '.join(missing)}", instead)
    done = subprocess.run(
        [directory / "kube-apiserver", "--version"], capture_output=True, text=True, check=False
    )
    found = re.search(r"v(\d+\.\d+)", done.stdout)
    if found is None or found[1] != minor.name:
        reported = done.stdout.strip() or done.stderr.strip()[-200:]
        raise ClusterError(
            f"{_VARIABLE}={value} is not Kubernetes {minor.name}: kube-apiserver --version prints {reported!r}",
            f"Choose --kubernetes {found[1]}, or: {instead}" if found else instead,
        )
    return directory
