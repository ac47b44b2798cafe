"""Which Koordinator this cluster has, and the declaration of the backend.

Koordinator's version is written nowhere in the cluster. Its PodGroup has hardly changed; what
came later are kinds of their own, and the dialect is named after those that are there.
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
    ObservedPodGroup,
    ObservedQuota,
    ObservedTopology,
)
from backend_controllers.koordinator.mirroring import mirror
from backend_controllers.koordinator.options import (
    Features,
    KoordinatorInstallation,
    KoordinatorOptions,
)
from backend_controllers.koordinator.translation import translate
from shared_api import names
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


def capabilities(features: Features) -> frozenset[str]:
    """What gangs may ask for."""
    return _ALWAYS | _TOPOLOGY if features.topology else _ALWAYS


def detect(served: Served, options: Options) -> Dialect | Absent:
    """Choose the dialect from the schemas."""
    if not isinstance(options, KoordinatorOptions):
        raise TypeError(f"these are no options of {BACKEND_NAME}: {options!r}")
    if not served.has(PODGROUPS):
        return _absent(f"{PODGROUPS} in version {PODGROUPS.version}")
    if not served.has_field(PODGROUPS, "spec", "minMember"):
        return _absent(f"the field spec.minMember of {PODGROUPS}")
    features = Features(
        waiting_time=served.has_field(PODGROUPS, "spec", "scheduleTimeoutSeconds"),
        topology=served.has_field(TOPOLOGIES, "spec", "networkTopologySpec", "labelKey"),
        quotas=served.has(QUOTAS),
    )
    installation = KoordinatorInstallation(features, options)
    return Dialect(
        name=_name(features),
        capabilities=capabilities(features),
        preparation=PREPARATION,
        translate=functools.partial(translate, installation),
        mirror=functools.partial(mirror, installation),
        writes=(Writes(PODGROUPS, ObservedPodGroup, news=False),),
        reads=_reads(features),
        follows_pods=True,
        warning=_warning(served),
    )


def _name(features: Features) -> str:
    optional = {"topology": features.topology, "quotas": features.quotas}
    return "+".join([PODGROUPS.api_version, *(name for name, found in optional.items() if found)])


def _reads(features: Features) -> tuple[Reads, ...]:
    reads = []
    if features.topology:
        reads.append(Reads(TOPOLOGIES, ObservedTopology))
    if features.quotas:
        reads.append(Reads(QUOTAS, ObservedQuota))
    return tuple(reads)


def _warning(served: Served) -> str:
    missing = [str(kind) for kind in (RESERVATIONS, DEVICES) if not served.has(kind)]
    if not missing:
        return ""
    return (
        f"{' and '.join(missing)} are not served: koord-scheduler waits for them without a word"
        " and schedules nothing; install all CRDs of its chart"
    )


def _absent(missing: str) -> Absent:
    return Absent(missing, _INSTALL, PREPARATION, capabilities(Features()))


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME, "*koord*"),
    scheduling_gate=GATE,
    questions=Questions(
        definitions=tuple(map(str, (PODGROUPS, QUOTAS, TOPOLOGIES, RESERVATIONS, DEVICES))),
    ),
    detect=detect,
    options=KoordinatorOptions,
    pod_keys=("quota.scheduling.koordinator.sh/", "scheduling.koordinator.sh/", KEY_POD_GROUP),
    release=ReleaseRules(
        surplus=SurplusRelease.AFTER_SCHEDULED, programs=ProgramsRelease.AFTER_RELEASE
    ),
)
