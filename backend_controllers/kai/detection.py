"""Which KAI this cluster has, and the declaration of the backend.

KAI has one version of its PodGroup; releases differ in optional fields. So the dialect is the
version plus the optional fields of the schemas. Discovery repeats, so an upgraded CRD is noticed.
"""

import functools

from backend_controllers.contract.declaration import (
    Absent,
    Backend,
    Dialect,
    Options,
    Questions,
    Reads,
    Served,
    Writes,
)
from backend_controllers.contract.detecting import (
    GANG,
    GANG_TOPOLOGY,
    NESTED_TOPOLOGY,
    checked_options,
    dialect_name,
    missing_kind,
)
from backend_controllers.contract.events import EVENTS, SchedulerEvent
from backend_controllers.contract.requested_values import READS_SETS
from backend_controllers.kai import podgrouper
from backend_controllers.kai.api import (
    BACKEND_NAME,
    KEY_POD_GROUP,
    KEY_SKIP_PODGROUPER,
    KEY_SUBGROUP,
    PODGROUPS,
    QUEUES,
    SCHEDULER_NAME,
    TOPOLOGIES,
    KaiPodGroup,
    KaiQueue,
    KaiTopology,
    pod_group_name,
)
from backend_controllers.kai.evictions import gang_of_event
from backend_controllers.kai.installation import (
    KaiFeatures,
    KaiInstallation,
    KaiOptions,
    detect_features,
)
from backend_controllers.kai.mirroring import mirror
from backend_controllers.kai.topology_sync import COMPANION
from backend_controllers.kai.translation import translate
from shared_api import names
from shared_api.kube.client import Selector
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import PRIORITY_CLASSES
from shared_api.models import PodPatch, PodPreparationSpec, PodSpecPatch, PreparationMode

_INSTALL = (
    "install KAI v0.10 or newer (v0.15 or newer is advised), with the CRDs of its chart:"
    " https://github.com/kai-scheduler/KAI-Scheduler"
)

PREPARATION = PodPreparationSpec(
    mode=PreparationMode.STATIC,
    members=PodPatch(
        labels={KEY_SUBGROUP: "{group}"},
        annotations={
            KEY_POD_GROUP: pod_group_name("{gang}", "{gangUID}"),
            KEY_SKIP_PODGROUPER: "true",
        },
        spec=PodSpecPatch(scheduler_name=SCHEDULER_NAME),
    ),
)

_EVICTIONS = Selector(
    fields="involvedObject.kind=PodGroup"
    f",involvedObject.apiVersion={PODGROUPS.api_version},reason=Evict"
)


def capabilities(features: KaiFeatures) -> frozenset[str]:
    """Return what gangs may request."""
    found = GANG | {
        names.CAPABILITY_GROUP_MINIMUMS,
        names.CAPABILITY_PRIORITY,
        names.CAPABILITY_RESIZE_IN_PLACE,
    }
    if features.nested:
        found |= {names.CAPABILITY_HIERARCHY}
    if features.topology:
        found |= GANG_TOPOLOGY
    if features.topology and features.nested:
        found |= NESTED_TOPOLOGY
    return found


def detect(served: Served, options: Options) -> Dialect | Absent:
    """Choose the dialect from the schemas."""
    chosen = checked_options(options, KaiOptions)
    missing = missing_kind(served, PODGROUPS, QUEUES)
    if not missing and not served.has_field(PODGROUPS, "spec", "subGroups", "minMember"):
        missing = f"the field spec.subGroups of {PODGROUPS}, which KAI has since v0.9"
    if missing:
        return Absent(missing, _INSTALL, PREPARATION, capabilities(KaiFeatures()))
    features = detect_features(served)
    installation = KaiInstallation(features, chosen)
    optional = {"minSubGroup": features.min_sub_group, "preemptionDelay": features.delays}
    return Dialect(
        name=dialect_name(PODGROUPS, optional),
        capabilities=capabilities(features),
        preparation=PREPARATION,
        translate=functools.partial(translate, installation),
        mirror=functools.partial(mirror, installation),
        writes=(Writes(PODGROUPS, KaiPodGroup, rival=podgrouper.rival(features)),),
        reads=_reads(features),
        companions=(COMPANION,) if features.topology else (),
        heeds_gated_pods=False,
        surplus_stands_in=True,
        warning=podgrouper.warning(features),
    )


def _reads(features: KaiFeatures) -> tuple[Reads, ...]:
    reads = [
        READS_SETS,
        Reads(QUEUES, KaiQueue),
        Reads(PRIORITY_CLASSES, PartialObject),
        Reads(EVENTS, SchedulerEvent, _EVICTIONS, translated=False, about=gang_of_event),
    ]
    if features.topology:
        reads += [Reads(TOPOLOGIES, KaiTopology), COMPANION.source]
    return tuple(reads)


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME, "grove-*"),
    scheduling_gate=names.GATE_PODGANG,
    questions=Questions(definitions=tuple(map(str, (PODGROUPS, QUEUES, TOPOLOGIES)))),
    detect=detect,
    options=KaiOptions,
    where_it_runs="kubectl -n kai-scheduler get pods",
    pod_keys=("kai.scheduler/", KEY_POD_GROUP),
)
