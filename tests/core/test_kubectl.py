"""`kubectl get pcs` tells a person what is going on, without looking at anything else."""

import asyncio

import pytest

from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from shared_api import names
from tests.core.kit import Onlooker, clique, condition, pcs, running_operator
from tests.core.pod_capacity import PodCapacity, sized_clique
from tests.core.stand_in import StandIn, programmed

pytestmark = pytest.mark.cluster


async def shown(
    cluster: Cluster, person: Onlooker, *options: str, kind: str = "pcs"
) -> dict[str, dict[str, str]]:
    """The table that kubectl prints, by the name of the object and the heading of the column."""
    command = ("get", kind, f"--namespace={person.namespace}", *options)
    printed = (await asyncio.to_thread(cluster.kubectl, *command)).stdout.splitlines()
    # Columns begin where their headings do.
    starts = [
        i for i, c in enumerate(printed[0]) if c != " " and printed[0][i - 1 : i] in ("", " ")
    ]
    rows = {}
    for line in printed:
        cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        rows[cells[0]] = cells
    headings = rows.pop("NAME")
    return {name: dict(zip(headings, cells, strict=True)) for name, cells in rows.items()}


async def test_get_reports_who_waits_for_what_and_wide_reports_the_numbers(
    core_cluster: Cluster, person: Onlooker, capacity: PodCapacity
) -> None:
    mortal = {names.ANNOTATION_SCHEDULER_BACKEND: "mortal"}
    lease = {"namespace": person.namespace, "name": "nobody"}
    await StandIn(person.client, "mortal", lease=lease).register()
    await capacity.provide(2)
    backend = StandIn(
        person.client,
        "default",
        says=lambda gang: None if gang.metadata.name == "held-0" else programmed(gang),
    )
    expected = {
        "held": ("False", "NotProgrammed", "0"),
        "partly": ("False", "PodsNotScheduled", "0"),
        "fine": ("True", "Ready", "2"),
        "lost": ("False", "BackendUnavailable", "0"),
    }
    messages = {
        "held": "0/1 replicas available; gang held-0: 2/2 pods gated until backend default has"
        " programmed the gang",
        "partly": "0/1 replicas available; gang partly-0: 2/3 pods scheduled; 1 with"
        " insufficient example.com/pod-slot",
        "fine": "2/2 replicas available",
        "lost": "0/1 replicas available; gang lost-0: backend 'mortal' is down: its Lease"
        f" {person.namespace}/nobody does not exist. Start it: kubectl -n {person.namespace} scale deployment"
        " nobody --replicas=2",
    }
    async with backend.serving(), running_operator(core_cluster):
        await person.create(pcs("held", clique("a", 2)))
        await person.create(pcs("partly", sized_clique("a", 3, 3)))
        await person.create(pcs("fine", clique("a", 2), replicas=2))
        await person.create(pcs("lost", clique("a", 2), annotations=mortal))
        await person.until(
            lambda: (
                {
                    name: condition(person.get(SETS, name), "Ready").get("message")
                    for name in messages
                }
                == messages
            )
        )
        table = await shown(core_cluster, person)
        assert {
            name: (row["READY"], row["REASON"], row["AVAILABLE"]) for name, row in table.items()
        } == expected
        assert [row["REPLICAS"] for _, row in sorted(table.items())] == ["2", "1", "1", "1"]
        wide = await shown(core_cluster, person, "--output=wide")
        assert {name: row["MESSAGE"] for name, row in wide.items()} == messages
        gangs = await shown(core_cluster, person, "--output=wide", kind="podgangs")
        down = f"its Lease {person.namespace}/nobody does not exist. Start it: kubectl"
        assert gangs["lost-0"]["REASON"] == "BackendUnavailable"
        assert gangs["lost-0"]["MESSAGE"].startswith(f"backend 'mortal' is down: {down}")
        assert gangs["fine-0"]["REASON"] == ""
        records = await shown(core_cluster, person, "--output=wide", kind="schedulerbackends")
        assert [records[name]["READY"] for name in ("default", "mortal")] == ["True", "False"]
        assert records["mortal"]["MESSAGE"].startswith(down)
    await person.remove_backend("mortal")
