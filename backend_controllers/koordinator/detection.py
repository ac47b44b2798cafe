"""Which Koordinator this cluster has, and the declaration of the backend.

Koordinator's version is recorded nowhere in the cluster. Its PodGroup has hardly changed; later
releases added kinds. So the dialect is named after the optional kinds that are served.
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
    checked_options,
    dialect_name,
    missing_kind,
)
from backend_controllers.koordinator.api import (
    BACKEND_NAME,
    DEVICES,
    GATE,
    KEY_POD_GROUP,
    PODGROUPS,
    QUOTAS,
    RESERVATIONS,
    SCHEDULER_NAME,
    TOPOLOGIES,
    KoordinatorTopology,
)
from backend_controllers.koordinator.installation import (
    KoordinatorFeatures,
    KoordinatorInstallation,
    KoordinatorOptions,
    detect_features,
)
from backend_controllers.koordinator.mirroring import mirror
from backend_controllers.koordinator.translation import translate
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.models import (
    PodPreparationSpec,
    PreparationMode,
    ProgramsRelease,
    ReleaseRules,
    SurplusRelease,
)

_INSTALL = (
    "install Koordinator v1.0 or newer (v1.8 was tried), with the CRDs of its chart:"
    " https://koordinator.sh/docs/installation"
)
PREPARATION = PodPreparationSpec(mode=PreparationMode.PER_GANG)


def capabilities(features: KoordinatorFeatures) -> frozenset[str]:
    """Return what gangs may request."""
    always = GANG | {
        names.CAPABILITY_GROUP_MINIMUMS,
        names.CAPABILITY_PRIORITY,
        names.CAPABILITY_RESIZE_IN_PLACE,
    }
    return always | GANG_TOPOLOGY if features.topology else always


def detect(served: Served, options: Options) -> Dialect | Absent:
    """Choose the dialect from the schemas."""
    chosen = checked_options(options, KoordinatorOptions)
    missing = missing_kind(served, PODGROUPS)
    if not missing and not served.has_field(PODGROUPS, "spec", "minMember"):
        missing = f"the field spec.minMember of {PODGROUPS}"
    if missing:
        return Absent(missing, _INSTALL, PREPARATION, capabilities(KoordinatorFeatures()))
    features = detect_features(served)
    installation = KoordinatorInstallation(features, chosen)
    reads = (Reads(TOPOLOGIES, KoordinatorTopology),) if features.topology else ()
    return Dialect(
        name=dialect_name(PODGROUPS, {"topology": features.topology, "quotas": features.quotas}),
        capabilities=capabilities(features),
        preparation=PREPARATION,
        translate=functools.partial(translate, installation),
        mirror=functools.partial(mirror, installation),
        # Koordinator writes the status of PodGroups late or never, so nothing of it is read.
        writes=(Writes(PODGROUPS, PartialObject, mirrored=False),),
        reads=(*reads, *((Reads(QUOTAS, PartialObject),) if features.quotas else ())),
        follows_pods=True,
        warning=_warning(served),
    )


def _warning(served: Served) -> str:
    missing = [str(kind) for kind in (RESERVATIONS, DEVICES) if not served.has(kind)]
    if not missing:
        return ""
    return (
        f"{' and '.join(missing)} are not served: koord-scheduler waits for them without a message"
        " and schedules nothing. Install all CRDs of its chart"
    )


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME, "*koord*"),
    scheduling_gate=GATE,
    questions=Questions(
        definitions=tuple(map(str, (PODGROUPS, QUOTAS, TOPOLOGIES, RESERVATIONS, DEVICES)))
    ),
    detect=detect,
    options=KoordinatorOptions,
    where_it_runs="kubectl -n koordinator-system get pods,lease/koord-scheduler",
    pod_keys=("quota.scheduling.koordinator.sh/", "scheduling.koordinator.sh/", KEY_POD_GROUP),
    release=ReleaseRules(
        surplus=SurplusRelease.AFTER_SCHEDULED, programs=ProgramsRelease.AFTER_RELEASE
    ),
)
