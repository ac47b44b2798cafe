"""What a machine or a pod has, where it is, and what it costs, for every kind of backend.

All fields are optional: a field that is absent is unknown, and never counts as zero or as free of
charge. Amounts are quantities and prices are decimal numbers, both as text, so that nothing is
rounded. Converters are elsewhere; this module has no arithmetic.
"""

from datetime import date
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api.models.meta import KubeModel
from shared_api.models.schema import Int32, Markers, Rule, list_map, rules

Amount = Annotated[
    str,
    Field(min_length=1, max_length=64),
    rules(Rule(check="isQuantity(self)", message="must be a quantity such as 500m, 4 or 16Gi")),
]
"""A quantity as Kubernetes writes it."""

Money = Annotated[str, Field(max_length=16, pattern=r"^[0-9]{1,9}(\.[0-9]{1,6})?$")]
"""A decimal number that is not negative, such as 2.49."""

Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", max_length=3)]
"""A currency by its three letters, such as USD."""

Place = Annotated[str, Field(min_length=1, max_length=63)]
_ResourceName = Annotated[str, Field(min_length=1, max_length=317)]


class Gpus(KubeModel):
    """GPUs of one type."""

    count: Annotated[Int32, Field(ge=0)]
    """How many."""

    type: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """Product, such as NVIDIA-H100-80GB-HBM3."""

    resource: _ResourceName = "nvidia.com/gpu"
    """Name of the Kubernetes resource."""


class Accelerator(KubeModel):
    """Devices of one kind other than whole GPUs, such as TPUs or parts of a GPU."""

    name: _ResourceName
    """Name of the Kubernetes resource, such as google.com/tpu or nvidia.com/mig-1g.5gb."""

    count: Annotated[Int32, Field(ge=0)]
    """How many."""


class ComputeResource(KubeModel):
    """What a pod needs, or what a machine has."""

    cpu: Amount | None = None
    """CPU cores."""

    architecture: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """Architecture of the CPU, as in kubernetes.io/arch: amd64, arm64."""

    memory: Amount | None = None
    """Memory in bytes."""

    ephemeral_storage: Amount | None = None
    """Local storage in bytes."""

    gpu: Gpus | None = None
    """Whole GPUs."""

    accelerators: Annotated[tuple[Accelerator, ...], list_map("name", at_most=16)] = ()
    """Other devices."""

    custom: Annotated[dict[str, Amount], Markers({"maxProperties": 32})] = Field(
        default_factory=dict
    )
    """All other resources by their Kubernetes name."""


class NodeLocation(KubeModel):
    """Where machines are, from broad to narrow."""

    region: Place | None = None
    """Region, as in topology.kubernetes.io/region."""

    zone: Place | None = None
    """Zone, as in topology.kubernetes.io/zone."""

    datacenter: Place | None = None
    """Data center."""

    rack: Place | None = None
    """Rack."""


class Price(KubeModel):
    """What compute resources cost, with the source and the day."""

    RULES: ClassVar = (
        Rule(
            check="has(self.perGpuHour) || has(self.perCpuHour)",
            message="must have perGpuHour or perCpuHour",
        ),
    )

    per_gpu_hour: Money | None = None
    """One GPU for an hour. Absent: unknown, so that a gang with GPUs has no known price. What is
    included in another price costs 0."""

    per_cpu_hour: Money | None = None
    """One CPU core for an hour. Absent: unknown."""

    currency: Currency = "USD"
    """Currency of both."""

    as_of: Annotated[date, Field()] | None = None
    """Day on which the price was read."""

    source: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """Where the price is from, such as a contract or a price list."""
