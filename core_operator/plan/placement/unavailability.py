"""Why a backend is not available, and the command that starts it.

The reason distinguishes a backend that is down, which an administrator may have stopped and starts
again, from one whose scheduler is not installed. The message ends with what to do.
"""

from shared_api import names
from shared_api.models import SchedulerBackendSpec

# The number of replicas in the manifests: a leader and a standby.
_REPLICAS = 2


def unavailable_reason(unready: str) -> str:
    """Return the reason of Available for a backend that reports this reason for not being ready."""
    missing = names.REASON_SCHEDULER_API_MISSING
    return missing if unready == missing else names.REASON_BACKEND_UNAVAILABLE


def start_command(record: SchedulerBackendSpec) -> str:
    """Return the command that starts a backend that is down; empty if its Deployment is unknown."""
    deployment = record.deployment or record.lease
    if deployment is None:
        return ""
    return (
        f"Start it: kubectl -n {deployment.namespace} scale deployment {deployment.name}"
        f" --replicas={_REPLICAS}"
    )
