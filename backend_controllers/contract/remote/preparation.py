"""How core prepares pods that run on a far side, the same for all backends that have one. Pure.

No scheduler has the name that the pods get. They tolerate a virtual node without a heartbeat for as long
as it takes: otherwise the cluster would delete all pods of a backend that is down for five minutes.
"""

from shared_api.models import (
    PatchedToleration,
    PodPatch,
    PodPreparationSpec,
    PodSpecPatch,
    PreparationMode,
)

_WITHOUT_HEARTBEAT = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def preparation(scheduler_name: str) -> PodPreparationSpec:
    """Return the preparation of members and surplus alike."""
    tolerations = tuple(PatchedToleration(key=key) for key in _WITHOUT_HEARTBEAT)
    spec = PodSpecPatch(scheduler_name=scheduler_name, tolerations=tolerations)
    patch = PodPatch(spec=spec)
    return PodPreparationSpec(mode=PreparationMode.STATIC, members=patch, surplus=patch)
