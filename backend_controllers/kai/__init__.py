"""KAI: gangs as `scheduling.run.ai/v2alpha2` PodGroups.

`detection` looks at the installed CRDs and declares the backend, `translation` makes the
PodGroup (its parts: `queues`, `subgroups`, `topology_requests`), `topology_sync` makes KAI's Topology
objects, and `mirroring` says how a gang fares (its `messages`, `evictions`). All of it
is pure.
"""

from backend_controllers.kai.detection import BACKEND

__all__ = ["BACKEND"]
