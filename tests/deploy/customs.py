"""In what the backends differ for that life: what they write, and what they want from users."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from backend_controllers.koordinator import api as koordinator
from backend_controllers.volcano import api as volcano
from backend_controllers.yunikorn import api as yunikorn
from local_cluster.schedulers.kai import QUEUE as KAI_QUEUE
from local_cluster.schedulers.yunikorn import QUEUE as YUNIKORN_QUEUE
from shared_api.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class Customs:
    """One backend."""

    written: tuple[Resource, ...] = ()
    """What it writes for a gang."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What its users put on their sets."""
    awaits_members: bool = False
    """Whether it writes nothing before a gang has its pods, and they are released."""
    definitions: tuple[str, ...] = ()
    """Of the scheduler's build: CRDs that the scheduler does without and the backend reads."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Settings for which it needs a right that it would not need otherwise."""


CUSTOMS = {
    "default": Customs(
        written=(
            Resource("scheduling.k8s.io", "v1alpha2", "workloads", "Workload"),
            Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup"),
        )
    ),
    "kai": Customs(
        written=(Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup"),),
        labels={"kai.scheduler/queue": KAI_QUEUE},
    ),
    "koordinator": Customs(
        written=(koordinator.PODGROUPS,),
        awaits_members=True,
        definitions=("scheduling.sigs.k8s.io_elasticquotas.yaml",),
    ),
    "volcano": Customs(written=(volcano.PODGROUPS,), options={"queueAdmission": True}),
    # It has no API of its own: all that its scheduler is told is on the pods.
    "yunikorn": Customs(labels={yunikorn.KEY_QUEUE: YUNIKORN_QUEUE}),
}
