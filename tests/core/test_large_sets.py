"""While much is being made: what is finished first, and what is not begun any more."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from core_operator.state.caches import CLIQUES, GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api.kube.client import Client
from shared_api.kube.http.transport import ConnectionLimits
from shared_api.kube.resources import PODS
from tests.core.kit import Onlooker, Operator, clique, gates, holds, pcs, running_operator
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster

LARGE = 120


class Narrow(Client):
    """For two requests at the same time, so that what is made takes its time."""

    def __init__(self, source: Any, **options: Any) -> None:
        super().__init__(source, **{**options, "limits": ConnectionLimits(in_flight=2)})


@contextlib.asynccontextmanager
async def making_slowly(cluster: Cluster, person: Onlooker) -> AsyncIterator[Operator]:
    """An operator that takes its time, and a backend."""
    async with (
        StandIn(person.client, "default").serving(),
        running_operator(cluster, client_type=Narrow) as operator,
    ):
        yield operator


def seen_names(person: Onlooker, kind: Any) -> set[str]:
    """The names of all objects of a kind that are ever seen from now on."""
    found: set[str] = set()
    person.seen(kind, lambda item: found.add(item.metadata.name))
    return found


async def test_the_first_gangs_of_a_large_set_are_released_while_others_are_not_even_made(
    core_cluster: Cluster, person: Onlooker
) -> None:
    made = seen_names(person, GANGS)
    async with making_slowly(core_cluster, person):
        await person.create(pcs("w", clique("a", 1), replicas=LARGE))
        await person.until(lambda: sum(not gates(pod) for pod in person.pods) >= 10)
        # Without an order among requests half of them are made by then.
        assert len(made) < 25
        await person.scale(SETS, "w", 1)
        await person.until(lambda: person.names(GANGS) == ["w-0"])


async def test_a_set_that_is_made_smaller_while_it_is_made_is_not_made_large_first(
    core_cluster: Cluster, person: Onlooker
) -> None:
    made = seen_names(person, GANGS)
    async with making_slowly(core_cluster, person) as operator:
        await person.create(pcs("w", clique("a", 1), replicas=LARGE))
        await person.until(lambda: len(made) >= 3)
        await person.scale(SETS, "w", 1)
        await person.until(lambda: person.names(GANGS) == ["w-0"])
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await operator.until_idle()
        assert person.names(CLIQUES) == ["w-0-a"]
        assert len(made) < LARGE


async def test_nothing_more_is_made_for_a_set_that_was_deleted_meanwhile(
    core_cluster: Cluster, person: Onlooker
) -> None:
    made = seen_names(person, GANGS)
    async with making_slowly(core_cluster, person) as operator:
        await person.create(pcs("w", clique("a", 1), replicas=LARGE))
        await person.until(lambda: len(made) >= 3)
        await person.delete(person.one(SETS, "w"), SETS)
        await person.until(lambda: not person.all(GANGS) and not person.pods)
        await operator.until_idle()
        assert len(made) < LARGE


async def test_a_clique_that_is_made_smaller_while_it_is_made_is_not_made_large_first(
    core_cluster: Cluster, person: Onlooker
) -> None:
    made = seen_names(person, PODS)
    async with making_slowly(core_cluster, person) as operator:
        large = clique("a", LARGE, minAvailable=1)
        await person.create(pcs("w", large))
        await person.until(lambda: len(made) >= 3)
        await person.scale(CLIQUES, "w-0-a", 2)
        await person.until(lambda: len(person.pods) == 2)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await operator.until_idle()
        assert len(made) < LARGE
