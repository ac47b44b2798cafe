"""Objects of others, reused names and deletions at a bad moment: nothing wedges or is touched."""

from collections.abc import Mapping

import pytest

from core_operator.plan.pods.pod_plan import plan_pods
from core_operator.plan.pods.preparation import Preparation
from core_operator.state.caches import CLIQUES, GANGS, SETS
from core_operator.writes import child_writer as children
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.client import Propagation, Selector
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.resources import (
    CONTROLLER_REVISIONS,
    EVENTS,
    HPAS,
    PODS,
    SERVICES,
    Resource,
)
from shared_api.models import PodClique
from tests.core.kit import (
    Object,
    Onlooker,
    clique,
    condition,
    holds,
    is_ready,
    pcs,
    running_operator,
)
from tests.core.stand_in import StandIn, programmed

pytestmark = pytest.mark.cluster


def plain_pod(name: str, labels: Mapping[str, str] | None = None) -> Object:
    """A pod that belongs to nobody."""
    container = {"name": "main", "image": "registry.example.com/app:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }


def names_to_come(podclique: LooseObject) -> list[str]:
    """The names that the first pods of a PodClique will have."""
    metadata = {
        "name": podclique.metadata.name,
        "namespace": podclique.metadata.namespace,
        "uid": podclique.metadata.uid,
    }
    parsed = PodClique.model_validate({"metadata": metadata, "spec": podclique.spec})
    plan = plan_pods(parsed, (), parsed.spec.minimum, Preparation("default"))
    return [new.name for new in plan.create]


async def test_pods_of_others_with_our_labels_are_neither_counted_nor_touched(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster) as op:
        await person.create(pcs("w", clique("a", 2)))
        await person.until_ready(2)
        await person.create(plain_pod("stranger", person.pods[0].metadata.labels))
        await person.until_ready(3)
        await person.scale(CLIQUES, "w-0-a", 3)
        await person.until_ready(4)
        await op.until_idle()
        assert person.get(PODS, "stranger") is not None
        assert person.one(CLIQUES, "w-0-a").status["replicas"] == 3
        references = person.one(GANGS, "w-0").spec["podgroups"][0]["podReferences"]
        assert "stranger" not in [reference["name"] for reference in references]
        assert len(references) == 3


async def test_a_name_that_a_stranger_has_is_told_and_taken_once_it_is_free(
    core_cluster: Cluster, person: Onlooker
) -> None:
    theirs = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "w-0"}}
    await person.create({**theirs, "spec": {"ports": [{"port": 80}]}})
    gang = {"apiVersion": GANGS.api_version, "kind": GANGS.kind, "metadata": {"name": "w-1"}}
    await person.create({**gang, "spec": {"podgroups": []}})
    await person.until(lambda: person.get(GANGS, "w-1") and person.get(SERVICES, "w-0"))
    before = {
        kind: person.one(kind, name).metadata for kind, name in ((SERVICES, "w-0"), (GANGS, "w-1"))
    }
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 1), replicas=3))
        # Replicas that need no name of theirs are not kept waiting.
        await person.until(lambda: sum(map(is_ready, person.pods)) == 2)
        await person.until(lambda: holds(person.get(SETS, "w"), "Stalled"))
        told = condition(person.get(SETS, "w"), "Stalled")["message"]
        assert "PodGang w-1" in told
        assert "Service w-0" in told
        await person.until_event("w", "Conflict")
        for kind, was in before.items():
            now = person.one(kind, was.name).metadata
            assert (now.uid, now.resource_version) == (was.uid, was.resource_version)
        await person.delete(person.one(GANGS, "w-1"), GANGS)
        await person.delete(person.one(SERVICES, "w-0"), SERVICES)
        await person.until_ready(3, seconds=40)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))


async def conflicts(person: Onlooker) -> list[str]:
    """What Events say about names that others have."""
    fields = Selector(fields="reason=Conflict")
    pages = person.client.pages(EVENTS, person.namespace, into=PartialObject, selector=fields)
    return [event.metadata.name async for page in pages for event in page.items]


@pytest.mark.parametrize("kind", [SERVICES, HPAS, CONTROLLER_REVISIONS], ids=str)
async def test_a_child_that_lost_the_label_by_which_it_is_found_gets_it_back(
    core_cluster: Cluster, person: Onlooker, kind: Resource
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster) as op:
        await person.create(pcs("w", clique("a", 1, autoScalingConfig={"maxReplicas": 4})))
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await op.until_idle()
        pages = person.client.pages(kind, person.namespace, into=PartialObject)
        (ours,) = [
            item.metadata
            async for page in pages
            for item in page.items
            if item.metadata.controller is not None
        ]
        await person.change(
            kind, ours.name, {"metadata": {"labels": {names.LABEL_MANAGED_BY: None}}}
        )
        await op.until_idle()
        found = await person.client.get(kind, ours.name, person.namespace, into=PartialObject)
        assert found.metadata.uid == ours.uid
        assert found.metadata.labels == ours.labels
        assert holds(person.get(SETS, "w"), "Ready")
        assert await conflicts(person) == []


async def test_a_set_that_is_made_again_under_its_name_gets_children_of_its_own(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2)))
        await person.until_ready(2)
        old = {pod.metadata.uid for pod in person.pods}
        await person.delete(person.one(SETS, "w"), SETS)
        await person.create(pcs("w", clique("a", 3)))
        await person.until(
            lambda: (
                len(person.pods) == 3
                and all(map(is_ready, person.pods))
                and not old & {pod.metadata.uid for pod in person.pods}
            ),
            seconds=40,
        )
        owner = person.one(SETS, "w").metadata.uid
        controller = person.one(CLIQUES, "w-0-a").metadata.controller
        assert controller is not None
        assert controller.uid == owner
        assert await conflicts(person) == [], "children of the former set are waited for"


async def test_a_child_of_the_former_set_that_a_finalizer_holds_is_named_until_it_is_gone(
    core_cluster: Cluster, person: Onlooker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "LONGEST_TERMINATION", 1.0)
    finalizer = "example.com/billing"
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster) as op:
        await person.create(pcs("w", clique("a", 1), clique("b", 1)))
        await person.until_ready(2)
        await person.change(CLIQUES, "w-0-a", {"metadata": {"finalizers": [finalizer]}})
        await person.delete(person.one(SETS, "w"), SETS)
        await person.until(lambda: not person.all(SETS))
        await person.create(pcs("w", clique("a", 1), clique("b", 1)))
        await person.until(lambda: holds(person.get(SETS, "w"), "Stalled"))
        told = condition(person.get(SETS, "w"), "Stalled")
        assert told["reason"] == "ChildTerminating"
        going = person.one(CLIQUES, "w-0-a").metadata
        assert going.deletion_timestamp is not None
        for part in ("PodClique w-0-a", finalizer, going.deletion_timestamp, "kubectl"):
            assert part in told["message"]
        assert finalizer in await person.until_event("w", "ChildTerminating")
        # The other child of the set did not wait for it.
        await person.until(lambda: "0" in person.pods_of("w-0-b"))
        await op.until_idle()
        await person.change(CLIQUES, "w-0-a", {"metadata": {"finalizers": None}})
        await person.until_ready(2)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        assert not condition(person.get(SETS, "w"), "Stalled")


async def test_deleting_a_set_while_it_is_being_made_leaves_nothing(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster) as op:
        await person.create(pcs("w", clique("a", 2), replicas=20))
        await person.until(lambda: len(person.pods) >= 5)
        await person.delete(person.one(SETS, "w"), SETS)
        await person.until(lambda: not person.all(SETS))
        await person.until(
            lambda: not any(map(person.all, (CLIQUES, GANGS, SERVICES, PODS))), seconds=40
        )
        await op.until_idle()


async def test_deleting_a_set_takes_everything_with_it_and_no_write_of_ours(
    core_cluster: Cluster, person: Onlooker
) -> None:
    group = {"name": "s", "cliqueNames": ["b"], "replicas": 2, "minAvailable": 1}
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster) as op:
        workload = pcs("w", clique("a", 2), clique("b", 1), podCliqueScalingGroups=[group])
        await person.create(workload)
        await person.until_ready(4)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await op.until_idle()
        before = op.writes.total()
        await person.delete(person.one(SETS, "w"), SETS)
        await person.until(
            lambda: not any(map(person.all, (CLIQUES, GANGS, SERVICES, PODS))), seconds=40
        )
        await op.until_idle()
        assert op.writes.total() == before


async def test_a_child_that_somebody_deletes_or_bends_is_mended(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving(), running_operator(core_cluster):
        await person.create(pcs("w", clique("a", 2)))
        await person.until_ready(2)
        service = person.one(SERVICES, "w-0")
        await person.delete(service, SERVICES)
        await person.until(
            lambda: (
                (found := person.get(SERVICES, "w-0")) is not None
                and found.metadata.uid != service.metadata.uid
            )
        )
        await person.change(CLIQUES, "w-0-a", {"metadata": {"labels": {names.LABEL_PODGANG: "x"}}})
        await person.until(
            lambda: person.one(CLIQUES, "w-0-a").metadata.labels[names.LABEL_PODGANG] == "w-0"
        )
        await person.change(GANGS, "w-0", {"metadata": {"labels": {names.LABEL_PART_OF: "x"}}})
        await person.until(
            lambda: person.one(GANGS, "w-0").metadata.labels[names.LABEL_PART_OF] == "w"
        )


async def test_a_pod_of_another_under_a_name_that_we_need_is_told_and_waited_for(
    core_cluster: Cluster, person: Onlooker
) -> None:
    def says(gang: LooseObject) -> Object | None:
        prepared = [{"name": group["name"], "members": {}} for group in gang.spec["podgroups"]]
        return {**programmed(gang), "podPreparations": prepared} if published else None

    published = False
    per_gang = {"mode": "PerGang"}
    async with running_operator(core_cluster) as operator:
        async with StandIn(person.client, "default", says=says, preparation=per_gang).serving():
            await person.create(pcs("w", clique("a", 3)))
            await person.until(lambda: holds(person.get(GANGS, "w-0"), "BackendSelected"))
            await person.until(lambda: person.get(CLIQUES, "w-0-a"))
            hidden, seen, _ = names_to_come(person.one(CLIQUES, "w-0-a"))
            ours = {names.LABEL_MANAGED_BY: names.MANAGED_BY}
            await person.create(plain_pod(hidden))
            await person.create(plain_pod(seen, ours))
            await person.until(lambda: len(person.pods) == 2)
            before = {pod.metadata.name: pod.metadata.uid for pod in person.pods}
        published = True
        async with StandIn(person.client, "default", says=says, preparation=per_gang).serving():
            # One name is known to be another's and is gone around; the other is waited for.
            await person.until(lambda: sorted(person.pods_of("w-0-a")) == ["1", "2"])
            await person.until(lambda: holds(person.get(CLIQUES, "w-0-a"), "Stalled"))
            told = condition(person.get(CLIQUES, "w-0-a"), "Stalled")
            assert (told["reason"], told["message"]) == (
                "Conflict",
                f"Pods {hidden} cannot be created: foreign pods, or pods without the label"
                " app.kubernetes.io/managed-by, have these names. Delete them, or restore the label",
            )
            assert await person.until_event("w-0-a", "Conflict") == told["message"]
            await person.until(
                lambda: hidden in condition(person.get(SETS, "w"), "Ready").get("message", "")
            )
            for name, uid in before.items():
                assert person.one(PODS, name).metadata.uid == uid
            await person.delete(person.one(PODS, hidden), PODS)
            await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
            assert sorted(person.pods_of("w-0-a")) == ["0", "1", "2"]
            assert person.one(PODS, seen).metadata.uid == before[seen]
            assert operator.total("controller_runtime_reconcile_panics_total") == 0


async def test_a_pod_that_lost_our_label_is_replaced_and_one_of_both_goes_when_it_is_back(
    core_cluster: Cluster, person: Onlooker
) -> None:
    def label(value: str | None) -> Object:
        return {"metadata": {"labels": {names.LABEL_MANAGED_BY: value}}}

    async with running_operator(core_cluster) as op, StandIn(person.client, "default").serving():
        await person.create(pcs("w", clique("a", 2)))
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        lost = person.pods_of("w-0-a")["0"].metadata.name
        # Core watches pods by this label, so to it the pod is gone.
        await person.change(PODS, lost, label(None))
        await person.until(lambda: len(person.all(PODS)) == 3)
        await person.change(PODS, lost, label(names.MANAGED_BY))
        await person.until(lambda: len(person.all(PODS)) == 2)
        await op.until_idle()
        assert {pod.metadata.labels[names.LABEL_POD_INDEX] for pod in person.all(PODS)} == {
            "0",
            "1",
        }
        assert holds(person.get(SETS, "w"), "Ready")


@pytest.mark.parametrize("value", [None, "x"], ids=["removed", "changed"])
async def test_a_pod_whose_labels_somebody_took_gets_them_back_and_counts_all_the_time(
    core_cluster: Cluster, person: Onlooker, value: str | None
) -> None:
    kept = (names.LABEL_PODGANG, names.LABEL_PODCLIQUE, names.LABEL_PART_OF)
    async with running_operator(core_cluster) as op, StandIn(person.client, "default").serving():
        await person.create(pcs("w", clique("a", 2)))
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await op.until_idle()
        before, bent = person.one(GANGS, "w-0"), person.pods_of("w-0-a")["0"]
        labels = bent.metadata.labels
        await person.change(
            PODS, bent.metadata.name, {"metadata": {"labels": dict.fromkeys(kept, value)}}
        )

        def has_them_back() -> bool:
            now = person.one(PODS, bent.metadata.name).metadata
            return now.resource_version != bent.metadata.resource_version and now.labels == labels

        await person.until(has_them_back)
        await op.until_idle()
        assert len(person.history) == 2, "no pod was recreated"
        now = person.one(GANGS, "w-0")
        assert now.metadata.generation == before.metadata.generation, "it was always referenced"
        assert holds(person.get(SETS, "w"), "Ready")


async def test_pods_that_were_orphaned_are_named_until_somebody_deletes_them(
    core_cluster: Cluster, person: Onlooker
) -> None:
    async with running_operator(core_cluster), StandIn(person.client, "default").serving():
        await person.create(pcs("w", clique("a", 2)))
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        orphans = {pod.metadata.name: pod.metadata.uid for pod in person.pods}
        await person.delete(person.one(CLIQUES, "w-0-a"), CLIQUES, Propagation.ORPHAN)
        await person.until(lambda: len(person.pods) == 4 and all(map(is_ready, person.pods)))
        await person.until(lambda: holds(person.get(SETS, "w"), "Stalled"))
        told = condition(person.get(CLIQUES, "w-0-a"), "Stalled")
        listed = " ".join(sorted(orphans))
        assert (told["reason"], told["message"]) == (
            "Conflict",
            "2 pods do not count for PodClique w-0-a: no owner controls them any more. Delete"
            f" them: kubectl delete pod -n {person.namespace} {listed}",
        )
        assert told["message"] in condition(person.get(SETS, "w"), "Ready")["message"]
        for name, uid in orphans.items():
            found = person.one(PODS, name)
            assert found.metadata.uid == uid
            await person.delete(found, PODS)
        await person.until(
            lambda: (
                holds(person.get(SETS, "w"), "Ready")
                and not holds(person.get(SETS, "w"), "Stalled")
            )
        )
        assert len(person.history) == 4
