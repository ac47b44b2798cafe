"""Koordinator: gangs as `scheduling.sigs.k8s.io/v1alpha1` PodGroups, one per group.

`detection` reads the installed CRDs and declares the backend. `translation` renders the PodGroups
(its parts: `membership`, `visibility`, `match_policy`, `topology`). `mirroring` reports how
Koordinator schedules a gang (its part: `messages`). All modules are pure.
"""

from backend_controllers.koordinator.detection import BACKEND

__all__ = ["BACKEND"]
