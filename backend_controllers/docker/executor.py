"""The far side of this backend: container engines on several hosts.

Reserving creates all containers of a gang and starts none. A container that was created holds its
resources until it is removed, also by its label: one that was never started expires.
"""

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from backend_controllers.docker.containers import Origin, image_refusal
from backend_controllers.docker.host_watch import HostWatch
from backend_controllers.docker.options import DockerOptions, GangNetwork
from backend_controllers.hosts.executor import HostsExecutor
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.watching.channel import Channel


class DockerExecutor(HostsExecutor):
    """All engines of one backend."""

    def __init__(self, options: DockerOptions, backend: str, clock: Clock = SYSTEM) -> None:
        changed = Channel[ObjectKey]("container hosts")
        origin = Origin(options.cluster, backend)
        self.engines = {
            host.name: HostWatch(host, options, origin, changed, clock) for host in options.hosts
        }
        self._options = options
        # A network of one engine: the gang stays on the host where it is, or on any one host.
        self._has_network = options.network is GangNetwork.BRIDGE
        super().__init__(changed, self.engines, one_host=self._has_network)

    def check(self, pods: tuple[RemotePod, ...]) -> None:
        """Check the images of the pods; they can be replaced after the template was accepted."""
        for pod in pods:
            image = pod.spec.containers[0].image
            if refusal := image_refusal(image, self._options.image_prefixes):
                raise ExecutorError(Outcome.INVALID, f"pod {pod.metadata.name}: image {refusal}")

    def address_in_gang(self, pod: str, host: str) -> str:
        """Return the name of the pod in the network of the gang, or the address of its host."""
        return pod if self._has_network else super().address_in_gang(pod, host)
