"""The `default` backend: gangs by kube-scheduler's own gang scheduling.

Kubernetes changed this API with every minor version, without conversion, and disables it by
default. What the API server serves decides the form of a gang: a Workload alone (1.35), a Workload
and one PodGroup for the minimum of all groups (1.36, 1.37), or a tree of CompositePodGroups with a
PodGroup per group (1.37 with the alpha gate). All modules are pure.
"""

from backend_controllers.contract.declaration import Backend
from backend_controllers.default.detection import QUESTIONS, detect
from backend_controllers.default.membership import GATE
from backend_controllers.default.options import DEFAULT_SCHEDULER, DefaultOptions

BACKEND = Backend(
    name="default",
    scheduler_names=("", DEFAULT_SCHEDULER),
    scheduling_gate=GATE,
    questions=QUESTIONS,
    detect=detect,
    options=DefaultOptions,
    pod_keys=("scheduler.grove.io/",),
    where_it_runs="kubectl -n kube-system get lease kube-scheduler",
)

__all__ = ["BACKEND"]
