"""Volcano: gangs as `scheduling.volcano.sh/v1beta1` PodGroups.

`detection` reads the installed CRDs and declares the backend. `translation` renders the PodGroup
(its parts: `queues`, `admission`, `tiers`, `topology_requests`, `subgroups`). `mirroring` reports
how Volcano schedules a gang (its part: `messages`). All modules are pure.
"""

from backend_controllers.volcano.detection import BACKEND

__all__ = ["BACKEND"]
