"""The backends that this program can run, by name.

Only the chosen one is imported: a process knows one scheduler.
"""

import importlib
from collections.abc import Mapping

from backend_controllers.contract.declaration import Backend

MODULES: Mapping[str, str] = {
    "default": "backend_controllers.default",
    "docker": "backend_controllers.docker",
    "kai": "backend_controllers.kai",
    "koordinator": "backend_controllers.koordinator",
    "slurm": "backend_controllers.slurm",
    "ssh": "backend_controllers.ssh",
    "volcano": "backend_controllers.volcano",
    "yunikorn": "backend_controllers.yunikorn",
}
"""Each module declares its backend as `BACKEND`."""

FAR_SIDES = frozenset({"docker", "slurm", "ssh"})
"""Backends whose hosts are outside of the cluster. They need settings and credentials, so no overlay
installs them together with the others."""


def find(name: str) -> Backend:
    """The backend of this name; KeyError if there is none."""
    found: object = importlib.import_module(MODULES[name]).BACKEND
    if not isinstance(found, Backend) or found.name != name:
        raise TypeError(f"{MODULES[name]}.BACKEND is not the backend {name}")
    return found
