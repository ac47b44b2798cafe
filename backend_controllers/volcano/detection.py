"""Which Volcano this cluster has, and the declaration of the backend.

Volcano has one version of its PodGroup; what differs between releases are fields. The
dialect is therefore the version together with what the schemas show, and a CRD that is
upgraded under us is found by asking again.
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
    gang_of_clique,
)
from backend_controllers.volcano.api import (
    BACKEND_NAME,
    CLIQUES,
    HYPERNODES,
    KEY_GROUP_NAME,
    KEY_TASK,
    KEY_VOLCANO_GROUP_NAME,
    PODGROUPS,
    QUEUES,
    SCHEDULER_NAME,
    ObservedClique,
    ObservedHyperNode,
    ObservedPodGroup,
    ObservedQueue,
)
from backend_controllers.volcano.features import Features, VolcanoInstallation, VolcanoOptions, find
from backend_controllers.volcano.mirroring import mirror
from backend_controllers.volcano.translation import translate
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import PRIORITY_CLASSES
from shared_api.models import (
    PodPatch,
    PodPreparationSpec,
    PodSpecPatch,
    PreparationMode,
    ReleaseRules,
    SurplusRelease,
)

_INSTALL = (
    "install Volcano (v1.14 or newer is advised) with the CRDs of its chart:"
    " https://github.com/volcano-sh/volcano"
)

_ALWAYS = frozenset(
    {
        names.CAPABILITY_GANG,
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
    if features.sub_groups or features.tasks:
        found.add(names.CAPABILITY_GROUP_MINIMUMS)
    if features.topology:
        found |= _TOPOLOGY
    if features.nested:
        found |= _NESTED_TOPOLOGY
    return frozenset(found)


def preparation(features: Features) -> PodPreparationSpec:
    """What makes a pod a member; Volcano looks for it when the pod is created."""
    annotations = {KEY_GROUP_NAME: "{gang}", KEY_VOLCANO_GROUP_NAME: "{gang}"}
    if not features.sub_groups:
        annotations[KEY_TASK] = "{group}"
    return PodPreparationSpec(
        mode=PreparationMode.STATIC,
        members=PodPatch(annotations=annotations, spec=PodSpecPatch(scheduler_name=SCHEDULER_NAME)),
    )


def detect(served: Served, options: Options) -> Dialect | Absent:
    """Choose the dialect from the schemas."""
    if not isinstance(options, VolcanoOptions):
        raise TypeError(f"these are no options of {BACKEND_NAME}: {options!r}")
    for kind in (PODGROUPS, QUEUES):
        if not served.has(kind):
            return _absent(f"{kind} in version {kind.version}")
    if not served.has_field(PODGROUPS, "spec", "minMember"):
        return _absent(f"the field spec.minMember of {PODGROUPS}")
    features = find(served)
    installation = VolcanoInstallation(features, options)
    return Dialect(
        name=_name(features),
        capabilities=capabilities(features),
        preparation=preparation(features),
        translate=functools.partial(translate, installation),
        mirror=functools.partial(mirror, installation),
        writes=(Writes(PODGROUPS, ObservedPodGroup),),
        reads=_reads(installation),
        surplus_stands_in=True,
        warning=_warning(served, features),
    )


def _name(features: Features) -> str:
    optional = {
        "subGroupPolicy": features.sub_groups,
        "minTaskMember": features.tasks and not features.sub_groups,
        "networkTopology": features.topology,
    }
    return "+".join([PODGROUPS.api_version, *(name for name, found in optional.items() if found)])


def _reads(installation: VolcanoInstallation) -> tuple[Reads, ...]:
    reads = [Reads(QUEUES, ObservedQueue), Reads(PRIORITY_CLASSES, PartialObject)]
    if installation.features.topology:
        reads.append(Reads(HYPERNODES, ObservedHyperNode))
    if installation.states_minimum:
        reads.append(Reads(CLIQUES, ObservedClique, about=gang_of_clique))
    return tuple(reads)


def _warning(served: Served, features: Features) -> str:
    if features.sub_groups and not served.has(HYPERNODES):
        return (
            f"{HYPERNODES} is not installed: Volcano's scheduler places nothing without it and does"
            " not say so; install it with the CRDs of Volcano's chart"
        )
    return ""


def _absent(missing: str) -> Absent:
    hoped_for = Features()
    return Absent(missing, _INSTALL, preparation(hoped_for), capabilities(hoped_for))


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME,),
    scheduling_gate=names.GATE_PODGANG,
    questions=Questions(definitions=tuple(map(str, (PODGROUPS, QUEUES, HYPERNODES)))),
    detect=detect,
    options=VolcanoOptions,
    pod_keys=("scheduling.k8s.io/", "scheduling.volcano.sh/", "volcano.sh/"),
    # Volcano takes pods in the order of their age, and room that surplus pods take may be what
    # the gang lacks.
    release=ReleaseRules(surplus=SurplusRelease.AFTER_SCHEDULED),
)
