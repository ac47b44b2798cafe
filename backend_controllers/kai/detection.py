"""Which KAI this cluster has, and the declaration of the backend.

KAI has one version of its PodGroup; what differs between releases are fields. The dialect
is therefore the version together with what the schemas show, and a CRD that is upgraded
under us is found by asking again.
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
from backend_controllers.kai import podgrouper
from backend_controllers.kai.api import (
    BACKEND_NAME,
    EVENTS,
    KEY_POD_GROUP,
    KEY_SKIP_PODGROUPER,
    KEY_SUBGROUP,
    PODGROUPS,
    QUEUES,
    SCHEDULER_NAME,
    TOPOLOGIES,
    ObservedEvent,
    ObservedPodGroup,
    ObservedQueue,
    ObservedTopology,
    pod_group_name,
)
from backend_controllers.kai.evictions import gang_of_event
from backend_controllers.kai.features import Features, KaiInstallation, KaiOptions, find
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

_ALWAYS = frozenset(
    {
        names.CAPABILITY_GANG,
        names.CAPABILITY_GROUP_MINIMUMS,
        names.CAPABILITY_PRIORITY,
        names.CAPABILITY_ELASTIC_SURPLUS,
        names.CAPABILITY_RESIZE_IN_PLACE,
    }
)
_TOPOLOGY = frozenset(
    {names.CAPABILITY_TOPOLOGY_REQUIRED_GANG, names.CAPABILITY_TOPOLOGY_PREFERRED_GANG}
)
_NESTED_TOPOLOGY = frozenset(
    {
        names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP_SET,
        names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP_SET,
        names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP,
        names.CAPABILITY_TOPOLOGY_PREFERRED_GROUP,
    }
)


def capabilities(features: Features) -> frozenset[str]:
    """What gangs may ask for."""
    found = set(_ALWAYS)
    if features.nested:
        found.add(names.CAPABILITY_HIERARCHY)
    if features.topology:
        found |= _TOPOLOGY
    if features.topology and features.nested:
        found |= _NESTED_TOPOLOGY
    return frozenset(found)


def detect(served: Served, options: Options) -> Dialect | Absent:
    """Choose the dialect from the schemas."""
    if not isinstance(options, KaiOptions):
        raise TypeError(f"these are no options of {BACKEND_NAME}: {options!r}")
    if not served.has(PODGROUPS):
        return _absent(f"{PODGROUPS} in version {PODGROUPS.version}")
    if not served.has(QUEUES):
        return _absent(f"{QUEUES} in version {QUEUES.version}")
    if not served.has_field(PODGROUPS, "spec", "subGroups", "minMember"):
        return _absent(f"the field spec.subGroups of {PODGROUPS}, which KAI has since v0.9")
    features = find(served)
    installation = KaiInstallation(features, options)
    return Dialect(
        name=_name(features),
        capabilities=capabilities(features),
        preparation=PREPARATION,
        translate=functools.partial(translate, installation),
        mirror=functools.partial(mirror, installation),
        writes=(Writes(PODGROUPS, ObservedPodGroup, rival=podgrouper.rival(features)),),
        reads=_reads(features),
        companions=(COMPANION,) if features.topology else (),
        heeds_held_pods=False,
        surplus_stands_in=True,
        warning=podgrouper.warning(features),
    )


def _name(features: Features) -> str:
    optional = {"minSubGroup": features.min_sub_group, "preemptionDelay": features.delays}
    return "+".join([PODGROUPS.api_version, *(name for name, found in optional.items() if found)])


def _reads(features: Features) -> tuple[Reads, ...]:
    reads = [
        Reads(QUEUES, ObservedQueue),
        Reads(PRIORITY_CLASSES, PartialObject),
        Reads(EVENTS, ObservedEvent, _EVICTIONS, translated=False, about=gang_of_event),
    ]
    if features.topology:
        reads += [Reads(TOPOLOGIES, ObservedTopology), COMPANION.source]
    return tuple(reads)


def _absent(missing: str) -> Absent:
    hoped_for = capabilities(Features())
    return Absent(missing, _INSTALL, PREPARATION, hoped_for)


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME, "grove-*"),
    scheduling_gate=names.GATE_PODGANG,
    questions=Questions(
        definitions=tuple(map(str, (PODGROUPS, QUEUES, TOPOLOGIES))),
    ),
    detect=detect,
    options=KaiOptions,
    pod_keys=("kai.scheduler/", KEY_POD_GROUP),
)
