"""The record of a backend follows its declaration, whatever it said before."""

import uuid
from functools import partial
from itertools import pairwise, permutations

import pytest

from backend_controllers.contract.declaration import Backend, Dialect, Questions, Report
from backend_controllers.generic.kinds import BACKENDS
from local_cluster.cluster import Cluster
from shared_api.kube.client import Client
from shared_api.models import (
    PodPatch,
    PodPreparationSpec,
    PodSpecPatch,
    PreparationMode,
    SchedulingGroup,
)
from tests.backends.generic.gangs import Eyes
from tests.backends.kit import running_backend
from tests.core.kit import Onlooker

pytestmark = pytest.mark.cluster

_NAMED = PodPatch(spec=PodSpecPatch(scheduler_name="x-scheduler"))
_JOINED = PodPatch(
    annotations={"example.com/gang": "{gang}"},
    spec=PodSpecPatch(scheduling_group=SchedulingGroup(pod_group_name="{gang}-{group}")),
)


def static(members: PodPatch | None = None, surplus: PodPatch | None = None) -> PodPreparationSpec:
    stated = {"members": members, "surplus": surplus}
    found = {name: patch for name, patch in stated.items() if patch is not None}
    return PodPreparationSpec.model_validate({"mode": PreparationMode.STATIC, **found})


PREPARATIONS = {
    "other pods as members": static(_JOINED),
    "other pods as they are": static(_JOINED, PodPatch()),
    "other pods in their own way": static(_JOINED, _NAMED),
    "members as they are": static(PodPatch(), _NAMED),
    "gang by gang": PodPreparationSpec(mode=PreparationMode.PER_GANG),
}


def declared(name: str, preparation: PodPreparationSpec) -> Backend:
    dialect = Dialect(
        name="example.com/v1",
        capabilities=frozenset({"Gang"}),
        preparation=preparation,
        translate=lambda gang, facts: pytest.fail("nothing is translated"),
        mirror=lambda gang, facts: Report(),
    )
    return Backend(name, (name,), "example.com/x", Questions(), lambda _, __: dialect)


def tour() -> list[str]:
    """Names of preparations such that each follows every other one at some point."""
    left = {name: [other for other in PREPARATIONS if other != name] for name in PREPARATIONS}
    found: list[str] = []
    path = [next(iter(PREPARATIONS))]
    while path:
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            found.append(path.pop())
    return found[::-1]


def test_the_tour_has_every_change() -> None:
    visited = tour()
    assert set(pairwise(visited)) == set(permutations(PREPARATIONS, 2))


async def test_a_preparation_changes_to_any_other(
    core_cluster: Cluster, client: Client, person: Onlooker
) -> None:
    name = f"x-{uuid.uuid4().hex[:6]}"
    async with Eyes(client, BACKENDS, "").watching() as eyes:
        try:
            for stop in tour():
                wanted = PREPARATIONS[stop]
                async with running_backend(core_cluster, declared(name, wanted)):
                    await eyes.until(partial(states, eyes, name, wanted))
        finally:
            await person.remove_backend(name)


def states(eyes: Eyes, name: str, wanted: PodPreparationSpec) -> bool:
    found = eyes.get(name)
    return (
        found is not None and PodPreparationSpec.model_validate(found.spec["preparation"]) == wanted
    )
