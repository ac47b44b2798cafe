"""Forged owner references: a UID that somebody writes into an object gives him no power."""

import json
from collections.abc import Callable

import pytest

from core_operator.state.caches import CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS
from tests.attacks.kit import Attacker, tenant
from tests.core.kit import Object, Onlooker, clique, condition, gates, holds, is_ready, pcs
from tests.deploy.people import pod

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

FINALIZER = "evil.example.com/x"
"""It keeps an object that the garbage collector would delete."""
GANGS_FORGED = 8
NOWHERE = {"nodeSelector": {"example.com/no": "where"}}


def forged(kind: str, api: str, name: str, owner: LooseObject, spec: Object) -> Object:
    """An object without labels that says that a set of another namespace controls it."""
    reference = {
        "apiVersion": SETS.api_version,
        "kind": SETS.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
    }
    metadata = {"name": name, "finalizers": [FINALIZER], "ownerReferences": [reference]}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def forged_group(owner: LooseObject) -> Object:
    """The scaling group of the set, with one replica."""
    spec = {"replicas": 1, "minAvailable": 1, "cliqueNames": ["b"]}
    name = f"{owner.metadata.name}-0-s"
    return forged(GROUPS.kind, GROUPS.api_version, name, owner, spec)


def forged_gang(owner: LooseObject, index: int = 0) -> Object:
    """A gang of the set, without pods."""
    spec = {"podgroups": [{"name": "x", "podReferences": [], "minReplicas": 1}]}
    name = f"{owner.metadata.name}-{index}"
    return forged(GANGS.kind, GANGS.api_version, name, owner, spec)


def pod_of(gang: str) -> Object:
    """A pod that says that it is of a gang."""
    made = pod(f"p-{gang}")
    made["metadata"]["labels"][names.LABEL_PODGANG] = gang
    return made


def generations(person: Onlooker) -> dict[str, int]:
    """How often each gang was changed."""
    return {gang.metadata.name: gang.metadata.generation for gang in person.all(GANGS)}


def scaled(name: str, replicas: int, **pod_spec: object) -> Object:
    """A set whose scaling group `s` has so many replicas, all but the first above the minimum."""
    group = {"name": "s", "cliqueNames": ["b"], "replicas": replicas, "minAvailable": 1}
    return pcs(name, clique("b", 1, podSpec=pod_spec), podCliqueScalingGroups=[group])


async def running(person: Onlooker, name: str, replicas: int) -> LooseObject:
    """A set of the victim that runs with so many replicas of its scaling group."""
    await person.create(scaled(name, replicas))
    await person.until(
        lambda: (
            sum(map(is_ready, person.pods)) == replicas and holds(person.get(SETS, name), "Ready")
        )
    )
    return person.one(SETS, name)


def unhold(attacker: Attacker, kind: str, name: str) -> None:
    """Let a forged object go."""
    patch = json.dumps({"metadata": {"finalizers": None}})
    attacker.do("patch", kind, name, "--type=merge", f"--patch={patch}")


async def test_a_scaling_group_of_another_namespace_changes_no_size(
    unguarded: Cluster, victim: Onlooker, attacker: Attacker
) -> None:
    web = await running(victim, "web", 4)
    before = {pod.metadata.uid for pod in victim.pods}
    attacker.do("create", "-f", "-", input=forged_group(web))
    try:
        # Later on the same watch, so that core has seen the forged group by then.
        await victim.scale(GROUPS, "web-0-s", 5)
        await victim.until_ready(5)
        await victim.until(lambda: len(victim.all(GANGS)) == 5)
        assert before < {pod.metadata.uid for pod in victim.pods}
        assert len(victim.history) == 5, "no pod was recreated"
        assert victim.one(GROUPS, "web-0-s").spec["replicas"] == 5
    finally:
        unhold(attacker, GROUPS.plural, "web-0-s")


async def test_a_gang_of_another_namespace_rewrites_no_references(
    unguarded: Cluster, victim: Onlooker, attacker: Attacker
) -> None:
    await victim.create(pcs("web", clique("a", 1), replicas=GANGS_FORGED))
    await victim.until(lambda: holds(victim.get(SETS, "web"), "Ready"))
    web, before = victim.one(SETS, "web"), generations(victim)
    # The garbage collector deletes each of them soon. A pod of the gang has core look at it before.
    forged_ones = [
        one
        for index in range(GANGS_FORGED)
        for one in (forged_gang(web, index), pod_of(f"web-{index}"))
    ]
    attacker.do(
        "create", "-f", "-", input={"apiVersion": "v1", "kind": "List", "items": forged_ones}
    )
    try:
        # A gang that comes later on the same watch.
        await victim.create(pcs("later", clique("a", 1)))
        await victim.until(lambda: holds(victim.get(SETS, "later"), "Ready"))
        assert before.items() <= generations(victim).items()
    finally:
        for index in range(GANGS_FORGED):
            unhold(attacker, GANGS.plural, f"web-{index}")


@pytest.mark.parametrize("forge", [forged_group, forged_gang])
async def test_a_policy_refuses_objects_that_name_our_kinds_as_their_controller(
    product: Cluster, victim: Onlooker, attacker: Attacker, forge: Callable[[LooseObject], Object]
) -> None:
    web = await running(victim, "web", 1)
    assert attacker.refused("create", "-f", "-", input=forge(web))


class Waiting:
    """A set of one namespace that runs, and one whose scaled gang waits for its base gang."""

    def __init__(self, person: Onlooker) -> None:
        self.person = person

    async def begin(self) -> None:
        await self.person.create(pcs("web", clique("a", 1)))
        await self.person.create(scaled("wait", 2, **NOWHERE))
        await self.person.until(
            lambda: (
                any(map(is_ready, self.person.pods_of("web-0-a").values()))
                and self.person.pods_of("wait-0-s-1-b")
                and holds(self.person.get(GANGS, "wait-0-s-0"), names.CONDITION_INITIALIZED)
            )
        )

    @property
    def runs(self) -> LooseObject:
        """The pod that runs."""
        (pod,) = self.person.pods_of("web-0-a").values()
        return pod

    @property
    def waits(self) -> LooseObject:
        """The pod that must not run."""
        (pod,) = (pod for pod in self.person.pods if pod.metadata.name.startswith("wait-0-s-1-b-"))
        return pod

    def is_gated(self) -> bool:
        """Tell whether the pod that must not run is still gated."""
        return len(gates(self.waits)) == 1

    def steal(self, *more: Object) -> tuple[str, ...]:
        """Hand the pod that runs to the PodClique that waits."""
        uid = self.person.one(CLIQUES, "wait-0-s-1-b").metadata.uid
        first = {"op": "replace", "path": "/metadata/ownerReferences/0/uid", "value": uid}
        words = ("patch", "pod", self.runs.metadata.name, "--type=json")
        return *words, f"--patch={json.dumps([first, *more])}"


def label(key: str, value: str) -> Object:
    path = key.replace("/", "~1")
    return {"op": "replace", "path": f"/metadata/labels/{path}", "value": value}


HANDED_OVER = (
    {"op": "replace", "path": "/metadata/ownerReferences/0/name", "value": "wait-0-s-1-b"},
)
DISGUISED = (
    *HANDED_OVER,
    label(names.LABEL_PODCLIQUE, "wait-0-s-1-b"),
    label(names.LABEL_PODGANG, "wait-0-s-0"),
)


async def test_a_running_pod_with_another_owners_uid_releases_no_gang(
    unguarded: Cluster, victim: Onlooker, home: str
) -> None:
    scene = Waiting(victim)
    await scene.begin()
    stolen = scene.runs
    tenant(unguarded, home).do(*scene.steal())
    # It is nobody's: the garbage collector deletes it, and its PodClique replaces it.
    await victim.until(
        lambda: (
            stolen.metadata.uid not in {pod.metadata.uid for pod in victim.pods}
            and any(map(is_ready, victim.pods_of("web-0-a").values()))
        )
    )
    assert scene.is_gated()


@pytest.mark.parametrize("more", [HANDED_OVER, DISGUISED], ids=["owner", "owner-and-labels"])
async def test_a_running_pod_of_another_clique_releases_no_gang(
    unguarded: Cluster, victim: Onlooker, home: str, more: tuple[Object, ...]
) -> None:
    scene = Waiting(victim)
    await scene.begin()
    stolen, thief = scene.runs, tenant(unguarded, home)
    held = scene.waits.metadata.name
    thief.do(*scene.steal(*more))
    # Has the gang looked at, whatever core makes of the theft.
    thief.do("label", "pod", held, "grove.io/looked=at")
    await victim.until(
        lambda: holds(victim.get(CLIQUES, "wait-0-s-1-b"), "Stalled") or not scene.is_gated()
    )
    assert scene.is_gated()
    told = condition(victim.get(CLIQUES, "wait-0-s-1-b"), "Stalled")
    assert told["reason"] == "Conflict"
    assert stolen.metadata.name in told["message"]
    await victim.until(lambda: victim.one(CLIQUES, "web-0-a").status.get("readyReplicas") == 1)
    assert scene.is_gated()
    assert victim.one(PODS, stolen.metadata.name).metadata.uid == stolen.metadata.uid
    references = victim.one(GANGS, "wait-0-s-0").spec["podgroups"][0]["podReferences"]
    assert stolen.metadata.name not in [reference["name"] for reference in references]
    await victim.delete(stolen, PODS)
    await victim.until(lambda: not holds(victim.get(CLIQUES, "wait-0-s-1-b"), "Stalled"))


@pytest.mark.parametrize("more", [(), DISGUISED], ids=["uid", "disguise"])
async def test_a_policy_refuses_another_owner_of_a_managed_pod(
    product: Cluster, victim: Onlooker, home: str, more: tuple[Object, ...]
) -> None:
    scene = Waiting(victim)
    await scene.begin()
    assert tenant(product, home).refused(*scene.steal(*more))
    assert scene.is_gated()
