"""Resource lists and ComputeResources: there and back without losing anything."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from shared_api.kube.compute_resources import (
    GPU_RESOURCES,
    from_kubernetes,
    gpus_in,
    location_of,
    to_kubernetes,
)
from shared_api.models import ComputeResource

NAMES = st.sampled_from(
    [
        "cpu",
        "memory",
        "ephemeral-storage",
        *GPU_RESOURCES,
        "nvidia.com/mig-1g.5gb",
        "google.com/tpu",
        "example.com/foo",
        "hugepages-2Mi",
    ]
)
# Kubernetes has no smaller part than a billionth.
AMOUNTS = st.integers(0, 10**24).map(lambda number: Fraction(number, 10**9)) | st.integers(
    0, 2**40
).map(Fraction)


@given(st.dictionaries(NAMES, AMOUNTS))
def test_a_list_is_the_same_after_it_was_there_and_back(amounts: dict[str, Fraction]) -> None:
    found = from_kubernetes(amounts)
    assert to_kubernetes(found) == amounts
    stored = ComputeResource.model_validate_json(found.model_dump_json(by_alias=True))
    assert to_kubernetes(stored) == amounts, "also as the server stores it"


@given(st.dictionaries(NAMES, AMOUNTS))
def test_what_a_list_does_not_have_stays_unknown(amounts: dict[str, Fraction]) -> None:
    found = from_kubernetes(amounts)
    assert (found.cpu is None) == ("cpu" not in amounts)
    assert (found.memory is None) == ("memory" not in amounts)
    assert found.architecture is None
    whole = [name for name in GPU_RESOURCES if amounts.get(name, Fraction(1, 2)).denominator == 1]
    assert found.gpu is None or found.gpu.resource in whole


def test_gpus_keep_their_vendor_and_their_type() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "kubernetes.io/arch": "arm64"}
    found = from_kubernetes({"nvidia.com/gpu": Fraction(8), "amd.com/gpu": Fraction(2)}, labels)
    assert found.gpu is not None
    assert (found.gpu.count, found.gpu.type) == (8, "NVIDIA-H100-80GB-HBM3")
    assert [(one.name, one.count) for one in found.accelerators] == [("amd.com/gpu", 2)]
    assert found.architecture == "arm64"
    assert gpus_in(to_kubernetes(found)) == 10


def test_devices_that_are_not_counted_in_whole_numbers_are_kept_as_they_are() -> None:
    found = from_kubernetes({"nvidia.com/gpu": Fraction(1, 2)})
    assert found.gpu is None
    assert found.custom == {"nvidia.com/gpu": "500m"}


def test_the_location_of_a_node_is_what_its_labels_report() -> None:
    assert location_of({"example.com/zone": "a"}) is None
    found = location_of({"topology.kubernetes.io/zone": "eu-1a", "topology.grove.io/rack": "r7"})
    assert found is not None
    assert found.manifest() == {"zone": "eu-1a", "rack": "r7"}
