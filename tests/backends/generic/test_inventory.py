"""Machines by shape: what nodes are counted under, and what is left out."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.contract.inventory_rows import ObservedNode, rows_of
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.inventory import INTERVAL, InventoryPublisher, counts_differently
from backend_controllers.generic.metrics import BackendMetrics
from backend_controllers.settings import BackendSettings
from shared_api.kube.compute_resources import to_kubernetes
from shared_api.kube.metadata import ObjectKey
from shared_api.models import BackendInventory, BackendInventorySpec
from shared_api.models.inventory import MAX_ROWS
from shared_api.runtime.applying.applied_fields import Applied, applied
from shared_api.runtime.clock import Clock
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed
from tests.backends.generic.flocks import Birds
from tests.backends.generic.samples import applier_of
from tests.runtime.writes import ScriptedClient

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


class World:
    """A publisher with a clock that is moved by hand. What it writes comes back as an event."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.client = ScriptedClient()
        self.nodes: Cache[ObservedNode] = Cache()
        self._own: Cache[Applied[BackendInventory]] = Cache()
        telemetry, birds = Telemetry(), Birds()
        context = BackendContext(
            birds.backend,
            BackendSettings(),
            self.client,
            telemetry,
            BackendMetrics(telemetry, birds.name),
            clock=Clock(monotonic=lambda: self.now),
        )
        applier = applier_of(context)
        self._publisher = InventoryPublisher(context, self.nodes, self._own, applier)
        self._key = ObjectKey("", birds.name)

    async def reconcile(self) -> Result | None:
        before = len(self.client.writes)
        result = await self._publisher.reconcile(self._key)
        for version, write in enumerate(self.client.writes[before:], before + 1):
            self._own.take(Changed(published(write.body, version)))
        return result

    def totals(self) -> list[int]:
        return [sum(row["total"] for row in w.body["spec"]["rows"]) for w in self.client.writes]


def published(body: Any, version: int) -> Applied[BackendInventory]:
    metadata = {**body["metadata"], "uid": "u", "resourceVersion": str(version)}
    text = msgspec.json.encode({**body, "metadata": metadata})
    return applied(BackendInventory).model_validate_json(text)


async def test_nodes_that_come_and_go_are_one_write_a_minute_and_none_at_rest() -> None:
    world = World()
    world.nodes.take(Changed(node("a")))
    assert await world.reconcile() is None
    for number in range(30):
        world.nodes.take(Changed(node(f"n{number}")))
        world.now += 1
        result = await world.reconcile()
        assert result is not None
        assert result.requeue_after == INTERVAL - number - 1
    assert world.totals() == [1]
    world.now += INTERVAL
    assert await world.reconcile() is None
    assert world.totals() == [1, 31]
    world.now += 10 * INTERVAL
    assert await world.reconcile() is None
    assert world.totals() == [1, 31], "nothing is written at rest"
