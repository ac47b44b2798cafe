"""Which version of a scheduler runs in the cluster, as far as the cluster shows it.

It owns the guess from a record to the scheduler's Deployment: one whose name contains a scheduler
name of the record. A scheduler that runs elsewhere has no version here; it is never invented.
"""

from gangctl.snapshot import Snapshot
from shared_api.kube.codec import LooseObject

_KUBERNETES = frozenset({"", "default-scheduler"})


def scheduler_version(snapshot: Snapshot, record: LooseObject) -> str:
    """Return name and version of a record's scheduler; empty if they are not known."""
    served = [str(name) for name in record.spec.get("schedulerNames") or ()]
    if _KUBERNETES & set(served):
        return f"Kubernetes {snapshot.server_version}" if snapshot.server_version else ""
    for name in (name for name in served if not {"*", "?"} & set(name)):
        for deployment in snapshot.deployments:
            found = deployment.metadata.name
            if name in found and "scheduler" in found:
                for image in deployment.images:
                    return f"{name} {_tag(image)}".rstrip()
    return ""


def _tag(image: str) -> str:
    """Return the tag of an image; the digest is too long to read."""
    path = image.split("@")[0].rsplit("/", 1)[-1]
    return path.split(":", 1)[1] if ":" in path else ""
