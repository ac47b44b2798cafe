"""Machines by shape: what nodes are counted under, and what is left out."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.contract.inventory_rows import ObservedNode, rows_of
from backend_controllers.generic.inventory import counts_differently
from shared_api.kube.compute_resources import to_kubernetes
from shared_api.models import BackendInventorySpec
from shared_api.models.inventory import MAX_ROWS

GPUS = {"cpu": "63", "memory": "515000Mi", "nvidia.com/gpu": "8", "pods": "110"}


def node(
    name: str = "n", *, unschedulable: bool = False, allocatable: Any = None, **labels: str
) -> ObservedNode:
    keys = {"zone": "topology.kubernetes.io/zone", "gpu": "nvidia.com/gpu.product"}
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": {keys.get(k, k): v for k, v in labels.items()}},
            "spec": {"unschedulable": unschedulable},
            "status": {"allocatable": GPUS if allocatable is None else allocatable},
        },
        ObservedNode,
    )


def test_equal_machines_are_one_row_with_their_location_and_gpu() -> None:
    nodes = [node(f"n{index}", zone="a", gpu="H100") for index in range(3)] + [node("m", zone="b")]
    rows, omitted = rows_of(nodes, {})
    assert omitted == 0
    assert [row.total for row in rows] == [3, 1]
    first = rows[0]
    assert first.free is None, "only the scheduler knows"
    assert first.location is not None
    assert first.location.zone == "a"
    assert first.shape.gpu is not None
    assert (first.shape.gpu.count, first.shape.gpu.type) == (8, "H100")
    assert "pods" not in to_kubernetes(first.shape)


def test_machines_that_differ_by_a_few_pages_are_one_row() -> None:
    nodes = [node(f"n{i}", allocatable={**GPUS, "memory": f"{512001 + i}Mi"}) for i in range(9)]
    rows, _ = rows_of(nodes, {})
    assert [row.total for row in rows] == [9]
    assert to_kubernetes(rows[0].shape)["memory"] >= 512009 * 1024**2, "rounded up, never down"


def test_nodes_that_are_cordoned_or_of_another_pool_are_not_counted() -> None:
    nodes = [node("a", pool="x"), node("b", pool="y"), node("c", pool="x", unschedulable=True)]
    rows, _ = rows_of(nodes, {"pool": "x"})
    assert [row.total for row in rows] == [1]


def test_the_most_frequent_shapes_are_kept_and_the_others_are_counted() -> None:
    nodes = [node(f"n{i}", allocatable={"cpu": f"{1 + i}"}) for i in range(MAX_ROWS + 5)]
    rows, omitted = rows_of([*nodes, nodes[-1]], {})
    assert (len(rows), omitted) == (MAX_ROWS, 5)
    assert (rows[0].total, rows[0].shape.cpu) == (2, f"{MAX_ROWS + 5}")


def test_only_a_change_of_what_is_counted_is_a_reason_to_write() -> None:
    differs = counts_differently({})
    assert not differs(node("a"), node("a", annotation="heartbeat"))
    assert differs(node("a"), node("a", unschedulable=True))
    assert differs(None, node("a"))
    assert differs(node("a"), None)
    assert not differs(None, node("a", unschedulable=True))


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "example.com/x", "pods"]),
            st.sampled_from(["0", "1", "500m", "3Gi", "not a quantity", "-1", "1e3"]),
        ),
        max_size=12,
    )
)
def test_whatever_nodes_report_the_rows_can_be_stored_and_count_every_node(
    given_: list[dict[str, str]],
) -> None:
    rows, omitted = rows_of([node(f"n{i}", allocatable=one) for i, one in enumerate(given_)], {})
    assert (sum(row.total for row in rows), omitted) == (len(given_), 0)
    spec = {"observedAt": "2026-01-01T00:00:00Z", "rows": rows}
    stored = BackendInventorySpec.model_validate(spec).model_dump_json(by_alias=True)
    assert BackendInventorySpec.model_validate_json(stored).rows == rows
