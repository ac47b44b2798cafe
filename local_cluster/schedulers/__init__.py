"""Schedulers that can run beside kube-scheduler, each a module: what to build, install and start."""

from local_cluster.errors import ClusterError
from local_cluster.schedulers import kai, koordinator, volcano, yunikorn
from local_cluster.schedulers.extra import ExtraScheduler

EXTRA_SCHEDULERS = {
    scheduler.name: scheduler
    for scheduler in (
        kai.SCHEDULER,
        koordinator.SCHEDULER,
        volcano.SCHEDULER,
        yunikorn.SCHEDULER,
    )
}


def extra_scheduler(name: str) -> ExtraScheduler:
    """Return a scheduler by its name, or raise an error that lists all names."""
    try:
        return EXTRA_SCHEDULERS[name]
    except KeyError:
        known = ", ".join(EXTRA_SCHEDULERS)
        raise ClusterError(f"there is no scheduler {name!r}", f"Choose from {known}") from None
