"""KAI: gangs as `scheduling.run.ai/v2alpha2` PodGroups.

`detection` reads the installed CRDs and declares the backend. `translation` renders the PodGroup
(its parts: `queues`, `subgroups`, `topology_requests`). `topology_sync` renders KAI's Topology
objects. `mirroring` reports how KAI schedules a gang (its parts: `messages`, `evictions`). All
modules are pure.
"""

from backend_controllers.kai.detection import BACKEND

__all__ = ["BACKEND"]
