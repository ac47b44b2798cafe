"""Koordinator: gangs as `scheduling.sigs.k8s.io/v1alpha1` PodGroups, one per group.

`detection` looks at the installed CRDs and declares the backend, `translation` makes the
PodGroups (its parts: `membership`, `visibility`, `match_policy`, `topology`), and `mirroring` says how
a gang fares (its `messages`). All of it is pure.
"""

from backend_controllers.koordinator.detection import BACKEND

__all__ = ["BACKEND"]
