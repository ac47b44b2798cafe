"""Which Volcano this cluster has, and the declaration of the backend.

Volcano has one version of its PodGroup; releases differ in optional fields. So the dialect is the
version plus the optional fields of the schemas. Discovery repeats, so an upgraded CRD is noticed.
"""

import functools

from backend_controllers.contract.cliques import CLIQUES
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
from backend_controllers.contract.detecting import (
    GANG,
    GANG_TOPOLOGY,
    NESTED_TOPOLOGY,
    checked_options,
    dialect_name,
    missing_kind,
)
from backend_controllers.contract.requested_values import READS_SETS
from backend_controllers.volcano.api import (
    BACKEND_NAME,
    HYPERNODES,
    KEY_GROUP_NAME,
    KEY_TASK,
    KEY_VOLCANO_GROUP_NAME,
    PODGROUPS,
    QUEUES,
    SCHEDULER_NAME,
    ObservedHyperNode,
    VolcanoClique,
    VolcanoPodGroup,
    VolcanoQueue,
)
from backend_controllers.volcano.installation import (
    VolcanoFeatures,
    VolcanoInstallation,
    VolcanoOptions,
    detect_features,
)
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


def capabilities(features: VolcanoFeatures) -> frozenset[str]:
    """Return what gangs may request."""
    found = GANG | {names.CAPABILITY_PRIORITY, names.CAPABILITY_RESIZE_IN_PLACE}
    if features.sub_groups or features.tasks:
        found |= {names.CAPABILITY_GROUP_MINIMUMS}
    if features.topology:
        found |= GANG_TOPOLOGY
    if features.nested:
        found |= NESTED_TOPOLOGY
    return found


def preparation(features: VolcanoFeatures) -> PodPreparationSpec:
    """Return the patch that makes a pod a member. Volcano reads it when the pod is created."""
    annotations = {KEY_GROUP_NAME: "{gang}", KEY_VOLCANO_GROUP_NAME: "{gang}"}
    if not features.sub_groups:
        annotations[KEY_TASK] = "{group}"
    return PodPreparationSpec(
        mode=PreparationMode.STATIC,
        members=PodPatch(annotations=annotations, spec=PodSpecPatch(scheduler_name=SCHEDULER_NAME)),
    )


def detect(served: Served, options: Options) -> Dialect | Absent:
    """Choose the dialect from the schemas."""
    chosen = checked_options(options, VolcanoOptions)
    missing = missing_kind(served, PODGROUPS, QUEUES)
    if not missing and not served.has_field(PODGROUPS, "spec", "minMember"):
        missing = f"the field spec.minMember of {PODGROUPS}"
    if missing:
        expected = VolcanoFeatures()
        return Absent(missing, _INSTALL, preparation(expected), capabilities(expected))
    features = detect_features(served)
    installation = VolcanoInstallation(features, chosen)
    optional = {
        "subGroupPolicy": features.sub_groups,
        "minTaskMember": features.tasks and not features.sub_groups,
        "networkTopology": features.topology,
    }
    return Dialect(
        name=dialect_name(PODGROUPS, optional),
        capabilities=capabilities(features),
        preparation=preparation(features),
        translate=functools.partial(translate, installation),
        mirror=functools.partial(mirror, installation),
        writes=(Writes(PODGROUPS, VolcanoPodGroup),),
        reads=_reads(installation),
        surplus_stands_in=True,
        warning=_warning(served, features),
    )


def _reads(installation: VolcanoInstallation) -> tuple[Reads, ...]:
    reads = [READS_SETS, Reads(QUEUES, VolcanoQueue), Reads(PRIORITY_CLASSES, PartialObject)]
    if installation.features.topology:
        reads.append(Reads(HYPERNODES, ObservedHyperNode))
    if installation.has_min_resources:
        reads.append(Reads(CLIQUES, VolcanoClique, about=gang_of_clique))
    return tuple(reads)


def _warning(served: Served, features: VolcanoFeatures) -> str:
    if not features.sub_groups or served.has(HYPERNODES):
        return ""
    return (
        f"{HYPERNODES} is not installed: Volcano's scheduler schedules nothing without it and does"
        " not report that. Install it with the CRDs of Volcano's chart"
    )


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME,),
    scheduling_gate=names.GATE_PODGANG,
    questions=Questions(definitions=tuple(map(str, (PODGROUPS, QUEUES, HYPERNODES)))),
    detect=detect,
    options=VolcanoOptions,
    where_it_runs="kubectl -n volcano-system get pods -l app=volcano-scheduler",
    pod_keys=("scheduling.k8s.io/", "scheduling.volcano.sh/", "volcano.sh/"),
    # Volcano schedules older pods first, so surplus pods could use capacity that the gang needs.
    release=ReleaseRules(surplus=SurplusRelease.AFTER_SCHEDULED),
)
