"""Gangs in a cluster without gang scheduling, for users who prefer to run without a guarantee.

Nothing is written for the scheduler, and every gang and the Backend object report that nothing is
guaranteed. A gang that requires a topology is still rejected: without it the pods would run in
the wrong place.
"""

import functools

from backend_controllers.contract.declaration import Dialect, Facts, Translation
from backend_controllers.default import membership, mirroring
from backend_controllers.default.gang_form import Counts, GangApiFeatures, remarks
from backend_controllers.default.options import DefaultOptions
from backend_controllers.default.topology import one_key
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang

NAME = "plain-scheduling"
NOT_A_GANG = (
    "its pods are scheduled one by one and may run in part: this cluster has no gang scheduling"
)


def dialect(options: DefaultOptions, why: str) -> Dialect:
    """Return the dialect without objects and without a guarantee."""
    return Dialect(
        name=NAME,
        capabilities=frozenset({names.CAPABILITY_PLAIN_SCHEDULING}),
        preparation=membership.plain(options.scheduler_name),
        translate=translate,
        mirror=functools.partial(mirroring.mirror_pods, surplus_stands_in=True),
        surplus_stands_in=True,
        warning=f"gangs are not guaranteed, their pods are scheduled one by one: {why}",
    )


def translate(gang: ObservedPodGang, facts: Facts) -> Translation:
    """Remark that the pods are no gang."""
    del facts
    refusals = one_key(gang, supported=False).refusals
    if refusals:
        return Translation(refusals=refusals)
    others = remarks(gang, Counts({}, 0), GangApiFeatures())
    return Translation(remarks=(NOT_A_GANG, *others))
