"""Gangs in a cluster without gang scheduling: kept whole by a timeout, or not at all.

Nothing is written for the scheduler. With GangByTimeout the record has a bind timeout, by which core
takes back a gang that was bound in part. With PlainScheduling nothing is guaranteed. Every gang and
the SchedulerBackend report which of the two it is. A gang that requires a topology is rejected by
both: without it the pods would run in the wrong place.
"""

import functools

from backend_controllers.contract.declaration import Dialect, Facts, Translation
from backend_controllers.default import membership, mirroring
from backend_controllers.default.gang_form import Counts, GangApiFeatures, remarks
from backend_controllers.default.options import DefaultOptions, WithoutGangSupport
from backend_controllers.default.topology import one_key
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.models import ReleaseRules, SurplusRelease

NAME = "plain-scheduling"
NAME_BY_TIMEOUT = "gang-by-timeout"
NOT_A_GANG = (
    "its pods are scheduled one by one and may run in part: this cluster has no gang scheduling"
)

_NO_GUARANTEE = frozenset({names.CAPABILITY_PLAIN_SCHEDULING})
_BY_TIMEOUT = frozenset(
    {
        names.CAPABILITY_GANG_BY_TIMEOUT,
        names.CAPABILITY_GROUP_MINIMUMS,
        names.CAPABILITY_ELASTIC_SURPLUS,
    }
)


def dialect(options: DefaultOptions, why: str) -> Dialect:
    """Return the dialect without objects: the one with a bind timeout, if that is chosen."""
    seconds = options.bind_timeout_seconds
    by_timeout = options.without_gang_support is WithoutGangSupport.GANG_BY_TIMEOUT
    # A surplus pod must not use the capacity that a member of another group needs in time.
    rules = ReleaseRules(surplus=SurplusRelease.AFTER_SCHEDULED, bind_timeout_seconds=seconds)
    kept = f"gangs are kept whole by a timeout: one that is not bound within {seconds} s gives back its pods"
    lost = "gangs are not guaranteed, their pods are scheduled one by one"
    return Dialect(
        name=NAME_BY_TIMEOUT if by_timeout else NAME,
        capabilities=_BY_TIMEOUT if by_timeout else _NO_GUARANTEE,
        preparation=membership.plain(options.scheduler_name),
        translate=functools.partial(
            translate, timeout_remark(seconds) if by_timeout else NOT_A_GANG
        ),
        mirror=functools.partial(mirroring.mirror_pods, surplus_stands_in=True),
        surplus_stands_in=True,
        release=rules if by_timeout else None,
        warning=f"{kept if by_timeout else lost}: {why}",
    )


def timeout_remark(seconds: int) -> str:
    """Return what a gang with a bind timeout reports."""
    return (
        f"its pods are scheduled one by one; if its minimum is not bound within {seconds} s, its pods"
        " are deleted and it waits: this cluster has no gang scheduling"
    )


def translate(remark: str, gang: ObservedPodGang, facts: Facts) -> Translation:
    """Remark what the gang has instead of gang scheduling."""
    del facts
    refusals = one_key(gang, supported=False).refusals
    if refusals:
        return Translation(refusals=refusals)
    others = remarks(gang, Counts({}, 0), GangApiFeatures())
    return Translation(remarks=(remark, *others))
