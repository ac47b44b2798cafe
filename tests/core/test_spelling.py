"""A client that reads a set, changes a label and writes it back in its own spelling rolls nothing."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from core_operator.state.caches import CLIQUES, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from tests.core.kit import Object, condition, holds
from tests.core.stage import GROUP, Stage, marked, on_stage, workload

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

HAND_WRITTEN: dict[str, Any] = {
    "resources": {"requests": {"cpu": 0.01, "memory": "1024Ki"}},
    "args": None,
    "readinessProbe": {"httpGet": {"port": 80}},
    "env": [{"name": "EMPTY", "value": ""}],
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    async with on_stage(core_cluster) as shared:
        yield shared


def as_a_go_client_writes(pcs: Object) -> Object:
    """The set as it is after encoding/json has read and written it with Kubernetes' types."""
    found = json.loads(json.dumps(pcs))
    found["metadata"]["creationTimestamp"] = None
    for clique in found["spec"]["template"]["cliques"]:
        spec = clique["spec"]["podSpec"]
        spec["securityContext"] = {}
        (main,) = spec["containers"]
        main["resources"] = {"requests": {"cpu": "10m", "memory": "1Mi"}}
        main["env"] = [{"name": "EMPTY"}]
        main["readinessProbe"] |= {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}}
        main["readinessProbe"] |= {"timeoutSeconds": 1, "periodSeconds": 10}
        spec["initContainers"] = []
    for template in found["spec"]["template"]["resourceClaimTemplates"]:
        template["templateSpec"]["metadata"] = {"creationTimestamp": None}
    for group in found["spec"]["template"]["podCliqueScalingGroups"]:
        group["annotations"] = {}
    return dict(found)


async def test_a_go_client_that_adds_a_label_replaces_no_pod(stage: Stage) -> None:
    cliques = marked("1")
    for one in cliques:
        one["spec"]["podSpec"]["containers"][0].update(HAND_WRITTEN)
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    claim = {"name": "gpus", "templateSpec": {"spec": {"devices": {"requests": [request]}}}}
    manifest = workload("go", cliques=cliques, groups=[GROUP], resourceClaimTemplates=[claim])
    await stage.person.create(manifest)
    await stage.until_ready("go", 6)
    await stage.until(lambda: holds(stage.person.get(SETS, "go"), "Ready"))
    await stage.operator.until_idle(60)
    before, stored = stage.uids("go"), stage.person.one(SETS, "go")
    hashes = template_hashes(stage)

    words = ("get", "pcs", "go", "-n", stage.person.namespace, "-o", "json")
    again = as_a_go_client_writes(json.loads(stage.cluster.kubectl(*words).stdout))
    again["metadata"]["labels"] = {"team": "vision"}
    stage.cluster.kubectl("replace", "-f", "-", input=json.dumps(again))

    generation = stored.metadata.generation or 0
    await stage.until(
        lambda: stage.person.one(SETS, "go").status["observedGeneration"] > generation
    )
    await stage.operator.until_idle(60)
    after = stage.person.one(SETS, "go")
    assert stage.uids("go") == before
    assert template_hashes(stage) == hashes
    assert after.status["currentGenerationHash"] == stored.status["currentGenerationHash"]
    assert after.status["updatedReplicas"] == stored.status["updatedReplicas"]
    assert not condition(after, names.CONDITION_UPDATING)
    assert "updateProgress" not in after.status
    # A change that is not only spelling is still rolled out.
    for one in cliques:
        one["spec"]["podSpec"]["containers"][0]["resources"]["requests"]["cpu"] = "11m"
    await stage.change("go", cliques)
    await stage.until(lambda: not any(before[name] & now for name, now in stage.uids("go").items()))
    await stage.until_ready("go", 6)
    await stage.remove("go")


def template_hashes(stage: Stage) -> set[str]:
    key = names.LABEL_POD_TEMPLATE_HASH
    return {found.metadata.labels[key] for found in stage.person.all(CLIQUES)}
