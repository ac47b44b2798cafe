"""The backends that the benchmark can use, and what each needs.

The stand-in writes one status a gang and nothing else, so that core is measured alone. The
others are the product's own backends, each with its scheduler.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from backend_controllers.default.served import POD_GROUPS_V1ALPHA2, WORKLOADS_V1ALPHA2
from backend_controllers.kai.api import BACKEND_NAME, KEY_QUEUE, PODGROUPS
from local_cluster.schedulers.kai import QUEUE
from shared_api import names
from shared_api.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class BackendUnderTest:
    """One backend."""

    name: str
    schedulers: tuple[str, ...] = ()
    """What runs beside kube-scheduler."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Of the sets, so that their gangs come to this backend."""
    objects: tuple[Resource, ...] = ()
    """The kinds that it writes for a gang, each once; the last one completes the gang."""

    @property
    def is_real(self) -> bool:
        """Return whether it is one of the product's own backends."""
        return bool(self.objects)


STAND_IN = BackendUnderTest("stand-in")
DEFAULT = BackendUnderTest("default", objects=(WORKLOADS_V1ALPHA2, POD_GROUPS_V1ALPHA2))
KAI = BackendUnderTest(
    BACKEND_NAME,
    schedulers=("kai",),
    annotations={names.ANNOTATION_SCHEDULER_BACKEND: BACKEND_NAME, KEY_QUEUE: QUEUE},
    objects=(PODGROUPS,),
)
CHOICES = {choice.name: choice for choice in (DEFAULT, KAI, STAND_IN)}
