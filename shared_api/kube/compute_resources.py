"""Converts between Kubernetes resource lists and ComputeResource, without losing anything.

A list that is converted there and back has the same names and numbers. A resource that is not in
the list stays unknown. GPUs and other devices are recognised by their resource names; a name that
is not known here, or a device that is not counted in whole numbers, is kept under `custom`.
"""

from collections.abc import Mapping
from fractions import Fraction

from shared_api.kube.pod_resources import Sums
from shared_api.kube.quantities import parsed, written
from shared_api.models.compute import Accelerator, ComputeResource, Gpus, NodeLocation

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "gpu.intel.com/i915")
"""Whole GPUs. If a list has several, the first of this order is `gpu`, the others are accelerators."""

_ACCELERATORS = (
    "aws.amazon.com/neuron",
    "google.com/tpu",
    "habana.ai/gaudi",
    "huawei.com/Ascend",
    "nvidia.com/mig-",
    "xilinx.com/fpga",
)
_PLAIN = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "ephemeral_storage"}
_MOST = 2**31 - 1
_LABEL_ARCHITECTURE = "kubernetes.io/arch"
_LABELS_GPU = ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "gpu.intel.com/product")
_LABELS_PLACE = {
    "region": "topology.kubernetes.io/region",
    "zone": "topology.kubernetes.io/zone",
    "datacenter": "topology.grove.io/datacenter",
    "rack": "topology.grove.io/rack",
}


def from_kubernetes(
    amounts: Mapping[str, Fraction], labels: Mapping[str, str] | None = None
) -> ComputeResource:
    """Return a resource list as a ComputeResource; `labels` are those of a node, if it is one's."""
    labels, fields = labels or {}, dict[str, object]()
    gpu = next((name for name in GPU_RESOURCES if _count(amounts.get(name)) is not None), None)
    accelerators: list[Accelerator] = []
    custom: dict[str, str] = {}
    for name, amount in amounts.items():
        count = _count(amount)
        if name in _PLAIN:
            fields[_PLAIN[name]] = written(amount)
        elif name == gpu:
            product = next((labels[key] for key in _LABELS_GPU if labels.get(key)), None)
            given = {"count": count, "resource": name} | ({"type": product} if product else {})
            fields["gpu"] = Gpus.model_validate(given)
        elif count is not None and (name in GPU_RESOURCES or name.startswith(_ACCELERATORS)):
            accelerators.append(Accelerator(name=name, count=count))
        else:
            custom[name] = written(amount)
    if accelerators:
        fields["accelerators"] = tuple(sorted(accelerators, key=lambda one: one.name))
    if custom:
        fields["custom"] = dict(sorted(custom.items()))
    if architecture := labels.get(_LABEL_ARCHITECTURE):
        fields["architecture"] = architecture
    return ComputeResource.model_validate(fields)


def to_kubernetes(resource: ComputeResource) -> Sums:
    """Return what is known of a ComputeResource as a resource list."""
    named = {name: getattr(resource, field) for name, field in _PLAIN.items()}
    found = {name: _number(text) for name, text in {**named, **resource.custom}.items()}
    amounts = {name: number for name, number in found.items() if number is not None}
    if resource.gpu is not None:
        amounts[resource.gpu.resource] = Fraction(resource.gpu.count)
    amounts.update({one.name: Fraction(one.count) for one in resource.accelerators})
    return amounts


def gpus_in(amounts: Mapping[str, Fraction]) -> Fraction:
    """Return how many whole GPUs a resource list has, of all vendors."""
    return sum((amounts[name] for name in GPU_RESOURCES if name in amounts), Fraction(0))


def location_of(labels: Mapping[str, str]) -> NodeLocation | None:
    """Return where a node is by its labels; None if no label names a place."""
    found = {field: labels[key] for field, key in _LABELS_PLACE.items() if labels.get(key)}
    return NodeLocation.model_validate(found) if found else None


def _number(text: str | None) -> Fraction | None:
    return None if text is None else parsed(text)


def _count(amount: Fraction | None) -> int | None:
    """Return an amount of devices; None if it is not a whole number that the API can hold."""
    if amount is None or amount.denominator != 1 or not 0 <= amount <= _MOST:
        return None
    return int(amount)
