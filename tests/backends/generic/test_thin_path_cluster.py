"""From a PodCliqueSet over the example backend to a gang that says that it runs."""

import pytest

from backend_controllers.generic.kinds import BACKENDS, GANGS
from local_cluster.cluster import Cluster
from shared_api.kube.codec import LooseObject
from tests.backends.generic.flocks import Birds
from tests.backends.kit import running_backend
from tests.core.kit import Onlooker, clique, condition, holds, pcs, running_operator

pytestmark = pytest.mark.cluster


async def test_a_gang_runs_and_its_backend_reports_it(
    core_cluster: Cluster, birds: Birds, person: Onlooker
) -> None:
    chosen = {"grove.io/scheduler-backend": birds.name}
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, birds.backend) as flock,
    ):
        await person.create(pcs("w", clique("a", 2), clique("b", 1), annotations=chosen))
        await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), 60)
        gang = person.one(GANGS, "w-0")
        assert gang.status["phase"] == "Running"
        assert condition(gang, "Scheduled")["message"] == "3/3 pods scheduled"
        written = await person.client.get(birds.kind, "w-0", person.namespace, into=LooseObject)
        assert written.spec == {"birds": 3}
        assert written.metadata.controller is not None
        assert written.metadata.controller.uid == gang.metadata.uid
        record = await person.client.get(BACKENDS, birds.name, into=LooseObject)
        assert holds(record, "Ready")
        await flock.until_idle()
        assert flock.writes.seen["apply", "podgangs/status"] <= 3
        assert flock.writes.seen["apply", "flocks"] == 1
