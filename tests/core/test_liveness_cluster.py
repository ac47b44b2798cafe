"""Backends are judged by what they do, not by what core could not see of it."""

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from core_operator.settings import Backends
from core_operator.state.caches import BACKENDS, GANGS, SETS
from local_cluster.cluster import Cluster, ClusterOptions
from shared_api import names
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import KubeError
from shared_api.kube.metadata import ObjectKey
from tests.core.kit import Object, Operator, clique, condition, pcs, running_operator, settings
from tests.core.lone_server import NAMESPACE, lone_server
from tests.core.stand_in import Heart, StandIn

pytestmark = pytest.mark.cluster

API_SERVER = "kube-apiserver"
LEASES_WATCH = "leases[metadata.namespace!=kube-node-lease]"
ALLOWED = 9
FIRST_RENEWAL = 6.0
"""Seconds from the end of the outage to the first renewal. Longer than a server that has just come up
has others wait before they ask again, 5 s: core could say something wrong in that time."""
RENEWAL = 1.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One that may be stopped."""
    with lone_server(ClusterOptions(parts="api"), tmp_path_factory) as cluster:
        yield cluster


async def keep_beating(heart: Heart) -> None:
    """Renew a Lease as a process does that does not end when the server is away."""
    while True:
        with contextlib.suppress(KubeError):
            await heart.beat()
        await asyncio.sleep(RENEWAL)


async def come_back(heart: Heart) -> None:
    """Renew a Lease again, but not at once."""
    await asyncio.sleep(FIRST_RENEWAL)
    await keep_beating(heart)


async def said_of(client: Client, backend: str) -> Object:
    """What core says of a backend. Asked: a watch would first have to be taken up again."""
    record = await client.get(BACKENDS, backend, into=LooseObject)
    return condition(record, names.CONDITION_AVAILABLE)


async def until_said(client: Client, backend: str, status: str) -> Object:
    async with asyncio.timeout(60):
        while (said := await said_of(client, backend)).get("status") != status:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return said


def silence_of_leases(operator: Operator) -> float:
    return operator.metric("watch_age_seconds", resource=LEASES_WATCH)


async def test_an_outage_of_the_server_costs_only_that_backend_which_died_in_it(
    server: Cluster,
) -> None:
    patient = settings(backends=Backends(stale_after_seconds=ALLOWED))
    async with (
        Client.from_kubeconfig(server.kubeconfig) as client,
        running_operator(server, patient) as operator,
        asyncio.TaskGroup() as group,
    ):
        hearts: dict[str, Heart] = {}
        beating: dict[str, asyncio.Task[None]] = {}
        # Kubernetes' own controllers renew Leases in every cluster, as the bystander does. Without
        # any news core asks for its watch again every 3 s, and on a slow machine each time looks
        # like one more outage.
        for name in ("first", "second", "bystander"):
            hearts[name] = Heart(client, ObjectKey(NAMESPACE, name), seconds=ALLOWED)
            await hearts[name].start()
            beating[name] = group.create_task(keep_beating(hearts[name]))
        for name in ("first", "second"):
            # It programs nothing, so that the gang waits, held.
            lease: Object = {"namespace": NAMESPACE, "name": name}
            await StandIn(client, name, lease=lease).register()
        before = await until_said(client, "first", "True")
        await until_said(client, "second", "True")
        listed = {names.ANNOTATION_SCHEDULER_BACKEND: "first,second"}
        wanted = pcs("w", clique("a", 2), annotations=listed)
        wanted["metadata"]["namespace"] = NAMESPACE
        await client.create(SETS, wanted, field_manager="person", into=PartialObject)
        await operator.until(lambda: operator.writes.seen["apply", GANGS.plural])
        gang = await client.get(GANGS, "w-0", NAMESPACE, into=LooseObject)

        # Neither can renew while it lasts, and the second never will again.
        await asyncio.to_thread(server.control.stop, API_SERVER)
        beating["first"].cancel()
        beating["second"].cancel()
        await operator.until(lambda: silence_of_leases(operator) > ALLOWED + 1)
        await asyncio.to_thread(server.control.resume, API_SERVER)
        await operator.until(lambda: silence_of_leases(operator) < 1)
        beating["first"] = group.create_task(come_back(hearts["first"]))

        await until_said(client, "second", "False")
        assert await said_of(client, "first") == before
        after = await client.get(GANGS, "w-0", NAMESPACE, into=LooseObject)
        assert after.metadata.uid == gang.metadata.uid
        assert after.metadata.labels[names.LABEL_SCHEDULER_BACKEND] == "first"
        for task in beating.values():
            task.cancel()
