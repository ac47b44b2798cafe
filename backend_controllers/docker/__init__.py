"""Docker and Podman: gangs as containers on hosts that are no nodes of the cluster.

`detection` declares the backend; its translation is that of every far side (`contract/remote`).
`executor` creates, starts and removes containers through `engine`, and `host_watch` observes the
engines. `packing` chooses hosts and `containers` writes containers; these two are pure.
"""

from backend_controllers.docker.detection import BACKEND

__all__ = ["BACKEND"]
