"""Whatever people write, they are told what is wrong with it, and the operator goes on."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import fresh_namespace
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.core.bad_manifests import REFUSED, TOLD, Edits, bad
from tests.core.kit import Onlooker, Operator, clique, condition, holds, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True, slots=True)
class Stage:
    """One operator and one person for all tests of this module."""

    person: Onlooker
    operator: Operator


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    with fresh_namespace(core_cluster) as namespace:
        async with (
            Client(from_kubeconfig(core_cluster.kubeconfig)) as client,
            Onlooker(client, namespace).watching() as person,
            StandIn(client, "default").serving(),
            running_operator(core_cluster) as operator,
        ):
            yield Stage(person, operator)


@pytest.mark.parametrize(("edits", "words"), REFUSED.values(), ids=REFUSED.keys())
async def test_is_refused_at_once(stage: Stage, edits: Edits, words: str) -> None:
    assert words in await stage.person.refusal(bad(edits))


@pytest.mark.parametrize("what", TOLD)
async def test_is_told(stage: Stage, what: str) -> None:
    person = stage.person
    edits, told = TOLD[what]
    # A name of its own: Events of another would be taken for its.
    name = f"w{list(TOLD).index(what)}"
    await person.create(bad(edits, name))

    def is_said() -> bool:
        whole = condition(person.get(SETS, name), "Ready")
        return whole.get("reason") == told.reason and told.words in whole["message"]

    await person.until(is_said)
    await person.until(lambda: holds(person.get(SETS, name), "Stalled"))
    assert told.words in await person.until_event(f"{name}{told.about}", told.reason)
    await person.start_over()


async def test_after_all_that_the_operator_serves_and_has_nothing_left_over(stage: Stage) -> None:
    person, operator = stage.person, stage.operator
    await person.create(pcs("w", clique("a", 2), clique("b", 1)))
    await person.until_ready(3)
    await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
    await operator.until_idle()
    assert operator.total("controller_runtime_reconcile_panics_total") == 0
    assert operator.total("controller_runtime_reconcile_timeouts_total") == 0
    assert operator.total("grove_gangs_blocked") == 0
