"""The facts that a translator may use beside the gang: a read-only view of the caches.

It returns projections as the dialect declared them. A pod is of a gang if the gang refers to it;
any client can set the label.
"""

from backend_controllers.generic.caches import BackendCaches
from backend_controllers.generic.kinds import GANGS
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import Resource
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.owners import identity
from shared_api.runtime.watching.predicates import Watched


class CacheFacts:
    """The facts about one gang, as the caches show them now."""

    __slots__ = ("_caches", "_gang", "_pods")

    def __init__(self, caches: BackendCaches, gang: ObservedPodGang) -> None:
        self._caches = caches
        self._gang = gang
        self._pods: tuple[Pod, ...] | None = None

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods of the gang, terminating ones left out."""
        if self._pods is None:
            self._pods = gang_pods(self._gang, self._caches.pods_of(self._gang))
        return self._pods

    @property
    def leaving(self) -> tuple[Pod, ...]:
        """Pods with the gang's label that are terminating; the gang need not refer to them."""
        labelled = self._caches.pods_of(self._gang)
        return tuple(pod for pod in labelled if pod.metadata.is_terminating)

    def owned(self, resource: Resource) -> tuple[Watched, ...]:
        """Objects of this kind that the gang controls."""
        found = self._caches.owned(resource, identity(GANGS, self._gang))
        return tuple(value.object for value in found)

    def get(self, resource: Resource, namespace: str, name: str) -> Watched | None:
        """Any object of a kind that the dialect watches."""
        return self._caches.find(resource, ObjectKey(namespace, name))

    def all(self, resource: Resource) -> tuple[Watched, ...]:
        """All objects of a kind that the dialect only reads."""
        if (cache := self._caches.read.get(resource)) is not None:
            return tuple(cache)
        return tuple(shown(value) for value in self._caches.written[resource])


def gang_pods(gang: ObservedPodGang, labelled: list[Pod]) -> tuple[Pod, ...]:
    """The pods that the gang refers to and that are not terminating."""
    if not labelled:
        return ()
    referred = {pod.name for group in gang.spec.podgroups for pod in group.pod_references}
    return tuple(
        pod for pod in labelled if pod.metadata.name in referred and not pod.metadata.is_terminating
    )


def shown(value: Watched) -> Watched:
    """The projection of a written object."""
    return value.object if isinstance(value, Applied) else value
