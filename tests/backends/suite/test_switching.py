"""A gang that is given to another backend before its pods were released."""

import pytest

from backend_controllers.generic.kinds import GANGS
from core_operator.state.caches import SETS
from local_cluster.waiting import until
from shared_api import names
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import Resource
from tests.backends.suite.contender import CONTENDERS, listed
from tests.backends.suite.leftovers import owned_by, until_nothing_is_left
from tests.backends.suite.stage import PERSON, SECONDS, Stage
from tests.core.kit import gates

QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
BY_NAME = {contender.backend: contender for contender in CONTENDERS}
WITH_ANOTHER = [contender for contender in CONTENDERS if contender.beside]

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(300),
    pytest.mark.parametrize("contender", listed(WITH_ANOTHER), indirect=True),
]


async def test_a_gang_moves_before_its_release_and_leaves_nothing_where_it_was(
    stage: Stage,
) -> None:
    here, there = stage.contender, BY_NAME[stage.contender.beside]
    await stage.add_nodes(2)
    # A gang is released when all its pods exist.
    quota = await _quota_of_one_pod(stage)
    await stage.create("w", {"a": 2}, annotations=_asking_for(there.backend))
    await stage.person.until(
        lambda: stage.said("w-0", "Programmed").get("status") == "True" and stage.pods("w-0"),
        SECONDS,
    )
    assert _backend_of(stage) == there.backend
    assert all(map(gates, stage.pods("w-0")))
    before = await owned_by(stage, "w-0")
    assert before

    change = {"metadata": {"annotations": _asking_for(here.backend)}}
    await stage.person.change(SETS, "w", change)
    await stage.person.until(
        lambda: (
            _backend_of(stage) == here.backend
            and {pod.spec["schedulerName"] for pod in stage.pods("w-0")} == {here.scheduler_name}
        ),
        SECONDS,
    )
    uid = quota.metadata.uid
    await stage.person.client.delete(QUOTAS, quota.metadata.name, stage.namespace, uid=uid)
    await stage.until_runs("w")
    assert {pod.spec["schedulerName"] for pod in stage.pods("w-0")} == {here.scheduler_name}
    assert not before.keys() & (await owned_by(stage, "w-0")).keys()
    await until_nothing_is_left(stage, there.group)


def _asking_for(backend: str) -> dict[str, str]:
    return {names.ANNOTATION_SCHEDULER_BACKEND: backend}


def _backend_of(stage: Stage) -> str | None:
    # It is recreated for another backend, so that for a moment there is none.
    gang = stage.person.get(GANGS, "w-0")
    return gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND) if gang else None


async def _quota_of_one_pod(stage: Stage) -> PartialObject:
    """A quota that is in force."""
    manifest = {
        "apiVersion": QUOTAS.api_version,
        "kind": QUOTAS.kind,
        "metadata": {"name": "one", "namespace": stage.namespace},
        "spec": {"hard": {"pods": "1"}},
    }
    client, path = stage.person.client, QUOTAS.path(stage.namespace)
    made = await client.create(QUOTAS, manifest, field_manager=PERSON, into=PartialObject)
    await until(
        stage.bed.cluster.kubeconfig,
        path,
        lambda found: all(item.get("status", {}).get("hard") for item in found),
        seconds=SECONDS,
    )
    return made
