"""On real KAI, a scaling group goes to zero beside a running clique and comes back whole."""

import pytest

from backend_controllers.generic.kinds import GANGS
from backend_controllers.kai import BACKEND
from backend_controllers.kai.api import PODGROUPS
from core_operator.state.caches import GROUPS, SETS
from local_cluster.cluster import Cluster
from tests.backends.kai.live import Stage
from tests.backends.kit import running_backend
from tests.core.kit import Onlooker, clique, condition, gates, holds, pcs, running_operator

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

SECONDS = 90
GROUP = {"name": "s", "cliqueNames": ["b"], "replicas": 1, "minAvailable": 1}


def sub_groups(person: Onlooker, gang: str) -> dict[str, int]:
    """The minimums of KAI's PodGroup of a gang."""
    uid = person.one(GANGS, gang).metadata.uid
    found = person.get(PODGROUPS, f"pg-{gang}-{uid}")
    entries = found.spec["subGroups"] if found is not None else []
    return {entry["name"]: entry["minMember"] for entry in entries}


async def test_a_group_that_was_scaled_to_zero_is_bound_whole_or_not_at_all(
    kai_with_gangs: Cluster, stage: Stage
) -> None:
    for index in range(3):
        await stage.add_node(index)
    queue = f"q-{stage.namespace}"
    await stage.queue(queue, "root")
    chosen = {"grove.io/scheduler-backend": "kai", "kai.scheduler/queue": queue}
    pod = {"nodeSelector": {"stage": stage.namespace}}

    def wide(name: str, size: int) -> dict[str, object]:
        return clique(name, size, cpu="20", podSpec=pod)

    async with (
        running_operator(kai_with_gangs),
        running_backend(kai_with_gangs, BACKEND),
        Onlooker(stage.client, stage.namespace, [PODGROUPS]).watching() as person,
    ):

        async def until_ready(name: str) -> None:
            await person.until(lambda: holds(person.get(SETS, name), "Ready"), SECONDS)

        def of_group() -> list[bool]:
            """Which pods of the group are bound, of those that KAI may bind."""
            pods = person.pods_of("w-0-s-0-b").values()
            return [bool(pod.spec.get("nodeName")) for pod in pods if not gates(pod)]

        cliques = [wide("a", 1), wide("b", 2)]
        await person.create(pcs("w", *cliques, annotations=chosen, podCliqueScalingGroups=[GROUP]))
        await until_ready("w")
        running = person.pods_of("w-0-a")["0"].metadata.uid

        async def until_at_zero() -> None:
            await person.scale(GROUPS, "w-0-s", 0)
            await person.until(
                lambda: len(person.pods) == 1 and sub_groups(person, "w-0") == {"w-0-a": 1},
                SECONDS,
            )
            await until_ready("w")

        await until_at_zero()
        await person.scale(GROUPS, "w-0-s", 1)
        await person.until(lambda: of_group() == [True, True], SECONDS)
        await until_ready("w")
        assert sub_groups(person, "w-0") == {"w-0-a": 1, "w-0-s-0-b": 2}
        await until_at_zero()
        assert person.pods_of("w-0-a")["0"].metadata.uid == running

        # Another set leaves capacity for one of the two pods.
        await person.create(pcs("x", wide("a", 1), annotations=chosen))
        await person.until(lambda: holds(person.get(SETS, "x"), "Ready"), SECONDS)
        await person.scale(GROUPS, "w-0-s", 1)

        def is_short() -> bool:
            scheduled = condition(person.get(GANGS, "w-0"), "Scheduled")
            text = str(scheduled.get("message", ""))
            return of_group() == [False, False] and "group 'w-0-s-0-b' fits 1 of 2" in text

        await person.until(is_short, SECONDS)
        # Not longer: KAI evicts the running pod of a gang that is below its minimum, after 5 s here.
        assert sub_groups(person, "w-0") == {"w-0-a": 1, "w-0-s-0-b": 2}
