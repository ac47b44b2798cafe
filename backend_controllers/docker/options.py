"""The settings of this backend: hosts, what may run on them, and how long a grant lasts."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, field_validator

from backend_controllers.contract.declaration import Options
from shared_api.kube.quantities import parsed

_Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$")]


class GangNetwork(StrEnum):
    """How containers of a gang reach each other."""

    HOST = "host"
    """Containers use the network of their host, so a gang may span hosts."""
    BRIDGE = "bridge"
    """Containers of a gang share a network of one host, so a gang fits on one host or not at all."""


class DockerTls(Options):
    """Files with which a TCP connection is secured; they are mounted into this Deployment only."""

    ca_file: str
    """Certificate authority of the engine. Another server is refused."""

    cert_file: str
    """Client certificate."""

    key_file: str
    """Key of the client certificate."""


class DockerSsh(Options):
    """Files with which an SSH connection is secured; they are mounted into this Deployment only."""

    key_file: str
    """Private key."""

    known_hosts_file: str
    """Keys of the hosts. A host that is not in it is refused."""


class DockerHost(Options):
    """One host with a Docker or Podman engine."""

    name: _Name
    """Name of the host, in messages and in RemoteGangs."""

    url: str = Field(pattern=r"^(unix:///|tcp://|ssh://).+")
    """Address of the engine: `unix:///path`, `tcp://host:port` (only with `tls`) or
    `ssh://user@host:port`."""

    address: str = "127.0.0.1"
    """Address of the host for the other hosts. Pods get it as their IP, and peers connect to it."""

    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the host. `nodeSelector` and topology levels are compared with them."""

    cpu: str | None = None
    """CPU that workloads may request in all. Default: all CPUs of the host."""

    memory: str | None = None
    """Memory that workloads may request in all. Default: all memory of the host."""

    gpus: Annotated[int, Field(ge=0, le=64)] = 0
    """GPUs of the host. Docker does not report them."""

    gpu_resource: str = "nvidia.com/gpu"
    """Name under which pods request these GPUs."""

    tls: DockerTls | None = None
    """Files for `tcp://`."""

    ssh: DockerSsh | None = None
    """Files for `ssh://`."""

    @field_validator("cpu", "memory")
    @classmethod
    def _is_quantity(cls, text: str | None) -> str | None:
        if text is not None and parsed(text) is None:
            raise ValueError(f"'{text}' is not a quantity")
        return text


class DockerOptions(Options):
    """Settings of this backend."""

    hosts: Annotated[tuple[DockerHost, ...], Field(max_length=256)] = ()
    """The hosts."""

    cluster: _Name = "default"
    """Name of this cluster in the labels of containers. Clusters that share hosts need different
    names: containers of this cluster that no gang knows are removed."""

    image_prefixes: tuple[str, ...] = ()
    """Images that may run, by the beginning of their names, such as `registry.example/team/`. If
    empty, no image may run."""

    pull_images: bool = True
    """Whether the engine pulls an image that it does not have."""

    network: GangNetwork = GangNetwork.HOST
    """How containers of a gang reach each other: `host` or `bridge`."""

    grant_seconds: Annotated[int, Field(ge=10, le=86400)] = 300
    """Seconds after which containers that were created and not started are removed."""

    probe_seconds: Annotated[float, Field(gt=0, le=300)] = 5.0
    """Seconds between two checks whether an engine answers. After two failed checks its containers
    are in an unknown state."""

    @field_validator("hosts")
    @classmethod
    def _are_unique_and_secured(cls, hosts: tuple[DockerHost, ...]) -> tuple[DockerHost, ...]:
        names = [host.name for host in hosts]
        if len(set(names)) < len(names):
            raise ValueError("every host needs a name of its own")
        for host in hosts:
            if host.url.startswith("tcp://") and host.tls is None:
                raise ValueError(f"host {host.name}: tcp:// needs tls")
            if host.url.startswith("ssh://") and host.ssh is None:
                raise ValueError(f"host {host.name}: ssh:// needs ssh")
        return hosts
