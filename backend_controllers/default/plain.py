"""Gangs where the cluster cannot guarantee them, for those who would rather run than wait.

Nothing is written for the scheduler, and every gang and the record say that nothing is
guaranteed. A gang that asks for a topology is still refused: that would not be less of what
was asked for, but something else.
"""

import functools

from backend_controllers.contract.declaration import Dialect, Facts, Translation
from backend_controllers.default import gang_form as asking
from backend_controllers.default import membership, mirroring
from backend_controllers.default.gang_form import Counts, Features
from backend_controllers.default.options import DefaultOptions
from backend_controllers.default.topology import one_key
from shared_api import names
from shared_api.kube.podgangs import PodGang

NAME = "plain-scheduling"
NOT_A_GANG = (
    "its pods are scheduled one by one and may run in part: this cluster has no gang scheduling"
)


def dialect(options: DefaultOptions, why: str) -> Dialect:
    """No objects, no guarantee."""
    return Dialect(
        name=NAME,
        capabilities=frozenset({names.CAPABILITY_PLAIN_SCHEDULING}),
        preparation=membership.plain(options.scheduler_name),
        translate=translate,
        mirror=functools.partial(mirroring.mirror_pods, surplus_stands_in=True),
        surplus_stands_in=True,
        warning=f"gangs are not guaranteed, their pods are scheduled one by one: {why}",
    )


def translate(gang: PodGang, facts: Facts) -> Translation:
    """Say that it is no gang."""
    del facts
    refusals = one_key(gang, supported=False).refusals
    if refusals:
        return Translation(refusals=refusals)
    return Translation(remarks=(NOT_A_GANG, *asking.remarks(gang, Counts({}, 0), Features())))
