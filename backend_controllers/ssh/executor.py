"""The far side of this backend: hosts without a container engine, reached over SSH."""

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from backend_controllers.hosts.executor import HostsExecutor
from backend_controllers.ssh.host_watch import SshHostWatch
from backend_controllers.ssh.options import SshOptions
from backend_controllers.ssh.units import command_refusal
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.watching.channel import Channel


class SshExecutor(HostsExecutor):
    """All hosts of one backend."""

    def __init__(self, options: SshOptions, backend: str, clock: Clock = SYSTEM) -> None:
        changed = Channel[ObjectKey]("hosts over SSH")
        self.watches = {
            host.name: SshHostWatch(host, options, backend, changed, clock)
            for host in options.hosts
        }
        self._options = options
        super().__init__(changed, self.watches)

    def check(self, pods: tuple[RemotePod, ...]) -> None:
        """Check the programs of the pods themselves, not only those of the template."""
        for pod in pods:
            command = pod.spec.containers[0].command
            program = command[0] if command else ""
            if refusal := command_refusal(program, self._options.commands):
                raise ExecutorError(Outcome.INVALID, f"pod {pod.metadata.name}: {refusal}")
