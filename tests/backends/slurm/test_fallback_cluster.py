"""Gangs that fall back between KAI and a real Slurm, in both directions."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from backend_controllers.generic.kinds import GANGS
from backend_controllers.kai import BACKEND as KAI
from backend_controllers.kai.installation import KaiOptions
from backend_controllers.slurm import BACKEND as SLURM
from backend_controllers.slurm.mapping import QUEUE_LABEL
from backend_controllers.slurm.options import SlurmOptions
from core_operator.state.caches import POLICIES
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import PartialObject
from tests.backends.kai.conftest import kai_namespace, kai_with_gangs, stage
from tests.backends.kai.live import Stage
from tests.backends.kit import backend_settings, forget_backends, running_backend, until_known
from tests.backends.slurm.conftest import options_for
from tests.backends.slurm.lab import SlurmLab
from tests.core.kit import Onlooker, clique, holds, pcs, running_operator

__all__ = ["kai_namespace", "kai_with_gangs", "stage"]
pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(400)]

SECONDS = 120


@contextlib.asynccontextmanager
async def scene(
    cluster: Cluster, stage: Stage, options: SlurmOptions, first: str, second: str
) -> AsyncIterator[Onlooker]:
    """Core and both backends; gangs prefer one of them."""
    await forget_backends(stage.client, "kai", "slurm")
    try:
        async with (
            running_operator(cluster),
            running_backend(cluster, KAI, backend_settings(KaiOptions())) as one,
            running_backend(cluster, SLURM, backend_settings(options)) as other,
            Onlooker(stage.client, stage.namespace).watching() as person,
        ):
            await one.until_serving()
            await other.until_serving()
            await until_known(person, "kai", "slurm")
            preferred = [{"name": first, "weight": 10}, {"name": second, "weight": 5}]
            spec = {"candidates": {"preferred": preferred}, "admissionTimeout": "10s"}
            metadata = {"name": "p", "namespace": stage.namespace}
            manifest = {
                "apiVersion": POLICIES.api_version,
                "kind": POLICIES.kind,
                "metadata": metadata,
                "spec": spec,
            }
            await stage.client.create(
                POLICIES, manifest, field_manager="person", into=PartialObject
            )
            yield person
            await person.start_over()
    finally:
        await forget_backends(stage.client, "kai", "slurm")


async def create(person: Onlooker, queue: str) -> None:
    """A gang of two pods that both can run."""
    requests = {"cpu": "2", "memory": "100Mi"}
    container = {
        "name": "main",
        "image": "host",
        "command": ["sleep", "600"],
        "resources": {"requests": requests},
    }
    role = {**clique("a", 2, podSpec={"containers": [container]}), "labels": {QUEUE_LABEL: "large"}}
    annotations = {names.ANNOTATION_PLACEMENT_POLICY: "p", "kai.scheduler/queue": queue}
    await person.create(pcs("w", role, annotations=annotations))
    await person.until(lambda: holds(person.get(GANGS, "w-0"), "Ready"), SECONDS)


def attempts(person: Onlooker) -> list[Any]:
    gang = person.one(GANGS, "w-0")
    return [(one["backend"], one.get("outcome")) for one in gang.status["placement"]["attempts"]]


async def test_a_gang_that_does_not_fit_kai_runs_on_slurm(
    kai_with_gangs: Cluster, stage: Stage, slurm: SlurmLab
) -> None:
    for index in range(2):
        await stage.add_node(index)
    small = f"small-{stage.namespace}"
    await stage.queue(small, "root", cpu=1000)
    slurm.cancel_all()
    options = options_for(slurm, stage.namespace)
    async with scene(kai_with_gangs, stage, options, "kai", "slurm") as person:
        await create(person, small)
        assert {pod.spec["nodeName"] for pod in person.pods} == {"slurm"}
        assert attempts(person) == [("kai", "Capacity"), ("slurm", None)]
        assert len(slurm.jobs()) == 1
        assert slurm.jobs().popitem()[1] == "RUNNING"


async def test_a_gang_runs_on_kai_while_slurm_cannot_be_reached(
    kai_with_gangs: Cluster, stage: Stage, slurm: SlurmLab
) -> None:
    for index in range(2):
        await stage.add_node(index)
    large = f"large-{stage.namespace}"
    await stage.queue(large, "root")
    slurm.cancel_all()
    options = options_for(slurm, stage.namespace)
    slurm.kill("slurmrestd")
    try:
        async with scene(kai_with_gangs, stage, options, "slurm", "kai") as person:
            await create(person, large)
            assert {pod.spec["schedulerName"] for pod in person.pods} == {"kai-scheduler"}
            assert attempts(person)[-1] == ("kai", None)
    finally:
        slurm.start("slurmrestd")
    assert slurm.jobs() == {}
