"""Sizes that nobody can mean stop one set, and neither its pods nor the operator."""

import gc
from collections import Counter

import pytest

from core_operator.controllers.podclique import PodCliqueReconciler
from core_operator.controllers.podcliqueset import PodCliqueSetReconciler
from core_operator.state.caches import CLIQUES, GROUPS, SETS
from core_operator.writes.child_writer import Wanted
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.errors import Invalid
from shared_api.kube.metadata import ObjectKey
from shared_api.models import PodClique, PodCliqueSet
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.outcome import Terminal
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.core.kit import Object, Onlooker, clique, condition, holds, pcs, running_operator
from tests.core.scene import Scene
from tests.core.stand_in import StandIn
from tests.plan.samples import NAMESPACE, pod_clique_set
from tests.plan.samples import clique as sample
from tests.runtime.writes import Write


async def test_a_clique_that_was_stored_larger_than_any_may_be_gets_no_pods_and_reports_why() -> (
    None
):
    scene = Scene()
    applier = Applier(scene.client, names.FIELD_MANAGER_CORE, PendingWrites(), Telemetry())
    reconciler = PodCliqueReconciler(scene.context, applier)
    spec = scene.clique.spec.model_copy(update={"replicas": 20_000})
    large = scene.clique.model_copy(update={"spec": spec})
    scene.put(scene.caches.cliques, applied(PodClique)(large, {}))
    scene.has_gang()
    with pytest.raises(Terminal):
        await reconciler.reconcile(ObjectKey(NAMESPACE, large.metadata.name))
    told = scene.context.problems.of(large.metadata.uid or "")
    assert told is not None
    assert str(told.reason) == "TooLarge"
    assert told.message == (
        f"PodClique {large.metadata.name} is too large: 20000 pods, at most 10000 are allowed."
        " Lower its replicas"
    )
    assert scene.client.writes == []


async def test_manifests_of_a_large_set_are_never_all_in_memory() -> None:
    scene = Scene()
    applier = Applier(scene.client, names.FIELD_MANAGER_CORE, PendingWrites(), Telemetry())
    request: Object = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    large = pod_clique_set(
        sample("a", spec={"autoScalingConfig": {"maxReplicas": 2}}),
        replicas=300,
        resourceClaimTemplates=[{"name": "x", "templateSpec": spec}],
        resourceSharing=[{"name": "x", "scope": "PerReplica"}],
    )
    scene.put(scene.caches.sets, applied(PodCliqueSet)(large, {}))
    most: Counter[str] = Counter()

    def look(write: Write) -> None:
        # At every fiftieth write, since all that is alive is looked at.
        if len(scene.client.writes) % 50 == 0:
            alive = sum(isinstance(found, Wanted) for found in gc.get_objects())
            most[write.resource] = max(most[write.resource], alive)

    scene.client.refuse = look
    await PodCliqueSetReconciler(scene.context, applier).reconcile(ObjectKey(NAMESPACE, "w"))
    written = Counter(write.resource for write in scene.client.writes)
    kinds = ("resourceclaims", "podgangs", "podcliques", "services", "horizontalpodautoscalers")
    assert {kind: written[kind] for kind in kinds} == dict.fromkeys(kinds, 300)
    # Those that are being written, the next one, and two that tell whether there are many.
    assert max(most.values()) <= scene.context.settings.concurrency.writes + 3


@pytest.mark.cluster
async def test_a_set_that_is_scaled_too_far_keeps_what_it_has_until_it_is_smaller(
    core_cluster: Cluster, person: Onlooker
) -> None:
    grouped = {"name": "s", "cliqueNames": ["b"]}
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster) as op:
        await person.create(
            pcs("w", clique("a", 1), clique("b", 3), podCliqueScalingGroups=[grouped])
        )
        await person.until_ready(4)
        before = {pod.metadata.uid for pod in person.pods}
        for kind, name in ((SETS, "w"), (CLIQUES, "w-0-a"), (GROUPS, "w-0-s")):
            with pytest.raises(Invalid, match="less than or equal to 10000"):
                await person.scale(kind, name, 1_000_000)
        for kind, name in ((SETS, "w"), (GROUPS, "w-0-s")):
            await person.scale(kind, name, 10_000)
            await person.until(
                lambda: condition(person.get(SETS, "w"), "Stalled").get("reason") == "TooLarge"
            )
            await person.until_event("w", "TooLarge")
            await op.until_idle()
            assert {pod.metadata.uid for pod in person.pods} == before
            await person.scale(kind, name, 1)
            await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await person.scale(GROUPS, "w-0-s", 2)
        await person.until_ready(7)
        assert before < {pod.metadata.uid for pod in person.pods}
