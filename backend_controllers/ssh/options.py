"""The settings of this backend: hosts, the user of the processes, and how long locks last."""

from typing import Annotated

from pydantic import Field, field_validator

from backend_controllers.contract.declaration import Options
from shared_api.kube.quantities import parsed

_Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$")]
_Account = Annotated[str, Field(pattern=r"^[a-z_][-a-z0-9_]{0,31}$")]


class SshHost(Options):
    """One host that is reached over SSH and has no container engine."""

    name: _Name
    """Name of the host, in messages and in RemoteGangs."""

    address: str = Field(min_length=1)
    """Address to which SSH connects. Peers connect to it too, and pods get it as their IP."""

    port: Annotated[int, Field(ge=1, le=65535)] = 22
    """Port of the SSH server."""

    user: _Account = "root"
    """Account for the login."""

    key_file: str = Field(min_length=1)
    """Private key. It is mounted into this Deployment only."""

    known_hosts_file: str = Field(min_length=1)
    """Keys of the hosts. A host that is not in it is refused."""

    command: str | None = Field(default=None, min_length=1)
    """Command that starts an agent which is installed on the host, such as
    `sudo -n /usr/bin/python3 -I /opt/podgang/agent.py training /var/lib/podgang`, with the account and
    the directory. Default: the agent is sent to the host."""

    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the host. `nodeSelector` and topology levels are compared with them."""

    cpu: str | None = None
    """CPU that workloads may request in all. Default: all CPUs of the host."""

    memory: str | None = None
    """Memory that workloads may request in all. Default: all memory of the host."""

    gpus: Annotated[int, Field(ge=0, le=64)] = 0
    """GPUs of the host. Pods get theirs in `CUDA_VISIBLE_DEVICES`."""

    gpu_resource: str = "nvidia.com/gpu"
    """Name under which pods request these GPUs."""

    @field_validator("cpu", "memory")
    @classmethod
    def _is_quantity(cls, text: str | None) -> str | None:
        if text is not None and parsed(text) is None:
            raise ValueError(f"'{text}' is not a quantity")
        return text


class SshOptions(Options):
    """Settings of this backend."""

    hosts: Annotated[tuple[SshHost, ...], Field(max_length=256)] = ()
    """The hosts."""

    cluster: _Name = "default"
    """Name of this cluster on the hosts. Clusters that share hosts need different names: units of this
    cluster that no gang knows are removed."""

    run_as: _Account = "nobody"
    """Account on the hosts with which the processes of pods run. It must not be root."""

    directory: str = Field(default="/var/lib/podgang", pattern=r"^/[-A-Za-z0-9_./]*$")
    """Directory on the hosts with the state and the logs of units."""

    commands: tuple[str, ...] = ()
    """Programs that pods may run, by the beginning of the absolute path, such as `/opt/training/`. If
    empty, no program may run."""

    grant_seconds: Annotated[int, Field(ge=1, le=86400)] = 300
    """Seconds after which a host removes a unit that was not started."""

    lock_seconds: Annotated[int, Field(ge=30, le=604800)] | None = 3600
    """Seconds for which a host lets units run without contact to this backend. Then the host ends them,
    and their pods may run elsewhere. `null`: never; then pods of a lost host wait for it."""

    probe_seconds: Annotated[float, Field(gt=0, le=300)] = 5.0
    """Seconds of silence after which a host is unreachable. A host reports every second."""

    @field_validator("run_as")
    @classmethod
    def _is_not_root(cls, account: str) -> str:
        if account == "root":
            raise ValueError("processes of pods must not run as root")
        return account

    @field_validator("commands")
    @classmethod
    def _are_absolute(cls, commands: tuple[str, ...]) -> tuple[str, ...]:
        if relative := [command for command in commands if not command.startswith("/")]:
            raise ValueError(f"'{relative[0]}' is no absolute path")
        return commands

    @field_validator("hosts")
    @classmethod
    def _have_names(cls, hosts: tuple[SshHost, ...]) -> tuple[SshHost, ...]:
        if len({host.name for host in hosts}) < len(hosts):
            raise ValueError("every host needs a name of its own")
        return hosts
