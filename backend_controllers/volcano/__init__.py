"""Volcano: gangs as `scheduling.volcano.sh/v1beta1` PodGroups.

`detection` looks at the installed CRDs and declares the backend, `translation` makes the
PodGroup (its parts: `queues`, `admission`, `tiers`, `topology_requests`, `subgroups`), and `mirroring` says how a gang
fares (its `messages`). All of it is pure.
"""

from backend_controllers.volcano.detection import BACKEND

__all__ = ["BACKEND"]
