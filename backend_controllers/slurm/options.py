"""The settings of this backend: where Slurm is, who submits, which queues there are, and what runs."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from backend_controllers.contract.declaration import Options

_Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$")]
_SlurmName = Annotated[str, Field(pattern=r"^[-A-Za-z0-9_.]{1,64}$")]
_Gres = Annotated[str, Field(pattern=r"^[-A-Za-z0-9_.]{1,64}(:[-A-Za-z0-9_.]{1,64})?$")]


class Runner(StrEnum):
    """What runs a pod's command on a node."""

    NONE = "none"
    """The node itself, with the rights of the Slurm user. There is no image."""
    APPTAINER = "apptainer"
    """`apptainer exec` with the image."""
    ENROOT = "enroot"
    """The plugin pyxis of `srun`, which runs the image with enroot."""
    OCI = "oci"
    """`srun --container` with a bundle that is prepared on the nodes."""


class SlurmQueue(Options):
    """How gangs of some namespaces are submitted."""

    name: _Name
    """Name of the queue. Pods name it with the label `slurm.grove.io/queue`."""

    namespaces: tuple[_Name, ...] = ()
    """Namespaces that may use the queue; empty: all."""

    user: _SlurmName | None = None
    """User whose jobs these are. Default: `user` of the backend."""

    partition: _SlurmName | None = None
    """Partition. Default: Slurm's default partition."""

    account: _SlurmName | None = None
    """Account that is charged."""

    qos: _SlurmName | None = None
    """Quality of service, if the priority class of the pods maps to none."""

    reservation: _SlurmName | None = None
    """Reservation of Slurm that the jobs use, if their gang names none."""

    time_limit_minutes: Annotated[int, Field(ge=1, le=525600)] | None = None
    """Time limit of jobs whose set has no `maxRuntime`. Default: that of the partition."""


class SlurmOptions(Options):
    """Settings of this backend."""

    url: str = Field(default="http://127.0.0.1:6820", pattern=r"^(https?://|unix:///).+")
    """Address of slurmrestd: `http://host:port`, `https://host:port` or `unix:///path`."""

    ca_file: str | None = None
    """Certificate authority of `https`. Default: those of the system."""

    key_file: str | None = None
    """Key with which tokens are signed (HS256), such as Slurm's `jwt_hs256.key`. Who has it can act as
    any user of the Slurm cluster: mount a token instead where you can."""

    token_file: str | None = None
    """Token of `user`, which another program renews. It is read again before each use."""

    user: _SlurmName = "podgang"
    """User of the token."""

    token_seconds: Annotated[int, Field(ge=60, le=86400)] = 1800
    """How long a token lasts that is signed here. It is renewed when a quarter of that is left."""

    cluster: _Name = "default"
    """Name of this cluster in the comments of jobs. Clusters that share a Slurm need different names:
    jobs of this cluster that no gang knows are cancelled."""

    queues: Annotated[tuple[SlurmQueue, ...], Field(min_length=1, max_length=256)] = (
        SlurmQueue(name="default"),
    )
    """Queues. A pod without the label gets the first one that its namespace may use."""

    gpu_resources: dict[str, _Gres] = Field(default_factory=lambda: {"nvidia.com/gpu": "gpu"})
    """Generic resources of Slurm by the name under which pods request them, such as `gpu:a100`."""

    qos_by_priority_class: dict[str, _SlurmName] = Field(default_factory=dict)
    """Quality of service by the `priorityClassName` of the pods."""

    topology: dict[str, tuple[_SlurmName, ...]] = Field(default_factory=dict)
    """Features of nodes by topology level, one for each rack or block: a gang that must be packed at
    this level runs on nodes with one of these features."""

    runner: Runner = Runner.NONE
    """What runs a pod's command: `none`, `apptainer`, `enroot` or `oci`."""

    runner_arguments: tuple[str, ...] = ()
    """Further arguments of the runner, such as `--nv` for apptainer."""

    image_prefixes: tuple[str, ...] = ()
    """Images that may run, by the beginning of their names. If empty, no image may run. With the runner
    `none` there is no image, and every pod must name `host`."""

    bundles: dict[str, str] = Field(default_factory=dict)
    """Directories of OCI bundles on the nodes by image, for the runner `oci`."""

    path: str = "/usr/local/bin:/usr/bin:/bin"
    """PATH of jobs. Slurm's commands must be in it."""

    environment: dict[str, str] = Field(default_factory=dict)
    """Further environment of jobs."""

    working_directory: str = Field(default="/tmp", pattern=r"^/")  # noqa: S108 - on the nodes
    """Directory on the nodes in which jobs run, if the pod names none."""

    spool_directory: str | None = Field(default=None, pattern=r"^/[-A-Za-z0-9_./]*$")
    """Directory on a file system of the nodes to which the output of pods is written. Without it, output
    is dropped and `kubectl logs` has nothing to show."""

    spool_mount: str | None = None
    """Where the same directory is mounted in this process; reading is enough."""

    grant_seconds: Annotated[int, Field(ge=10, le=86400)] = 300
    """Seconds after which a job ends by itself that was not started."""

    reserve_seconds: Annotated[int, Field(ge=1, le=90)] = 20
    """Seconds for which a gang may wait in Slurm's queue. Then its job is cancelled, and the gang reports
    NoCapacity. Longer than two loops of the backfill scheduler (`bf_interval`)."""

    poll_seconds: Annotated[float, Field(ge=0.2, le=60)] = 1.0
    """Seconds between two requests for jobs while a gang is being reserved, started or released."""

    idle_poll_seconds: Annotated[float, Field(ge=0.2, le=300)] = 5.0
    """Seconds between two requests for jobs otherwise. After two failed ones all pods are unknown."""

    accounting_hours: Annotated[int, Field(ge=0, le=8760)] = 48
    """Hours for which ended jobs are looked up in slurmdbd, if slurmrestd serves it, when this process
    starts or Slurm answers again."""

    control_seconds: Annotated[int, Field(ge=1, le=600)] = 30
    """Seconds between two looks of a running job at its comment, in which pods are removed one by
    one."""

    @model_validator(mode="after")
    def _is_complete(self) -> "SlurmOptions":
        names = [queue.name for queue in self.queues]
        if len(set(names)) < len(names):
            raise ValueError("every queue needs a name of its own")
        if self.key_file and self.token_file:
            raise ValueError("set keyFile or tokenFile, not both")
        if self.spool_mount and not self.spool_directory:
            raise ValueError("spoolMount needs spoolDirectory")
        return self
