"""Claims that pods share are made, allocated by the real scheduler, and go with their owners."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from core_operator.state.caches import CLIQUES, GROUPS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.resources import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from tests.core.kit import Object, clique, condition, holds, pcs
from tests.core.stage import PATIENCE, Stage, on_stage

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(180),
]

DRIVER = "devices.example.com"
ALL, PER = "AllReplicas", "PerReplica"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster, devices: str) -> AsyncIterator[Stage]:
    async with on_stage(core_cluster, also=(RESOURCE_CLAIMS,)) as shared:
        yield shared


@pytest.fixture(scope="module")
def devices(core_cluster: Cluster) -> Iterator[str]:
    """A class of devices, of which one node has plenty; kube-scheduler allocates them."""
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": DRIVER},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
    }
    resource_slice = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-3-devices"},
        "spec": {
            "driver": DRIVER,
            "nodeName": "node-3",
            "pool": {"name": "node-3", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"device-{number}"} for number in range(64)],
        },
    }
    for manifest in (device_class, resource_slice):
        core_cluster.kubectl("create", "-f", "-", input=json.dumps(manifest))
    try:
        yield DRIVER
    finally:
        core_cluster.kubectl("delete", "resourceslice/node-3-devices", f"deviceclass/{DRIVER}")


def claims_one() -> Object:
    request = {"name": "one", "exactly": {"deviceClassName": DRIVER}}
    return {"spec": {"devices": {"requests": [request]}}}


def template(name: str) -> Object:
    return {"name": name, "templateSpec": claims_one()}


def shared(name: str, scope: str, **more: Any) -> Object:
    return {"name": name, "scope": scope, **more}


def workload(name: str, **more: Any) -> Object:
    """A standalone `a` and a group of `b`, which share at all levels and scopes."""
    a = clique("a", 2, minAvailable=1)
    a["resourceSharing"] = [shared("x", ALL), shared("y", PER)]
    group = {
        "name": "s",
        "cliqueNames": ["b"],
        "replicas": 1,
        "minAvailable": 1,
        "resourceSharing": [shared("x", PER)],
    }
    return pcs(
        name,
        a,
        clique("b"),
        podCliqueScalingGroups=[group],
        resourceClaimTemplates=[template("x"), template("y")],
        resourceSharing=[
            shared("x", ALL),
            shared("y", PER, filter={"childScalingGroupNames": ["s"]}),
        ],
        **more,
    )


def claims(stage: Stage, of: str) -> dict[str, LooseObject]:
    found = stage.person.all(RESOURCE_CLAIMS)
    ours = [claim for claim in found if claim.metadata.labels.get(names.LABEL_PART_OF) == of]
    return {claim.metadata.name: claim for claim in ours}


def reserved_for(claim: LooseObject) -> set[str]:
    """The pods for which devices of a claim are allocated."""
    users = claim.status.get("reservedFor", []) if claim.status.get("allocation") else []
    return {user["name"] for user in users}


async def test_claims_of_all_levels_are_allocated_and_follow_sizes(stage: Stage) -> None:
    person = stage.person
    await person.create(workload("rs"))
    await stage.until_ready("rs", 3)
    named = ["rs-0-a-0-y", "rs-0-a-1-y", "rs-0-a-all-x", "rs-0-s-0-x", "rs-0-y", "rs-all-x"]
    await stage.until(lambda: list(claims(stage, "rs")) == named)
    # Each is allocated by kube-scheduler, and reserved for exactly the pods that share it.
    (b,) = (pod.metadata.name for pod in person.pods_of("rs-0-s-0-b").values())
    a = {index: pod.metadata.name for index, pod in person.pods_of("rs-0-a").items()}
    users = {
        "rs-all-x": {*a.values(), b},
        "rs-0-y": {b},
        "rs-0-s-0-x": {b},
        "rs-0-a-all-x": {*a.values()},
        "rs-0-a-0-y": {a["0"]},
        "rs-0-a-1-y": {a["1"]},
    }
    await stage.until(
        lambda: {name: reserved_for(claim) for name, claim in claims(stage, "rs").items()} == users
    )
    owners = {name: claim.metadata.controller for name, claim in claims(stage, "rs").items()}
    assert {name: owner.kind for name, owner in owners.items() if owner} == {
        "rs-all-x": "PodCliqueSet",
        "rs-0-y": "PodCliqueSet",
        "rs-0-s-0-x": "PodCliqueScalingGroup",
        "rs-0-a-all-x": "PodClique",
        "rs-0-a-0-y": "PodClique",
        "rs-0-a-1-y": "PodClique",
    }
    await person.scale(GROUPS, "rs-0-s", 2)
    await person.scale(CLIQUES, "rs-0-a", 3)
    await stage.until_ready("rs", 5)
    more = sorted([*named, "rs-0-a-2-y", "rs-0-s-1-x"])
    await stage.until(lambda: list(claims(stage, "rs")) == more)
    # Scaling in takes the claims with the pods, in the end even out of the server's hands.
    await person.scale(GROUPS, "rs-0-s", 1)
    await person.scale(CLIQUES, "rs-0-a", 1)
    fewer = [name for name in named if name != "rs-0-a-1-y"]
    await stage.until(lambda: list(claims(stage, "rs")) == fewer)
    await stage.until(lambda: person.get(RESOURCE_CLAIMS, "rs-0-s-1-x") is None)
    await stage.remove("rs")
    await stage.until(lambda: all(person.get(RESOURCE_CLAIMS, name) is None for name in more))


async def test_a_claim_that_is_deleted_or_relabelled_is_repaired(stage: Stage) -> None:
    person = stage.person
    one = clique("a", 1)
    one["resourceSharing"] = [shared("y", PER)]
    await person.create(
        pcs("mend", one, resourceClaimTemplates=[template("x"), template("y")],
            resourceSharing=[shared("x", ALL)])
    )  # fmt: skip
    await stage.until_ready("mend", 1)
    old = person.one(RESOURCE_CLAIMS, "mend-0-a-0-y")
    label = {"metadata": {"labels": {names.LABEL_COMPONENT: "forged"}}}
    await person.change(RESOURCE_CLAIMS, "mend-all-x", label)
    await stage.until(
        lambda: (
            person.one(RESOURCE_CLAIMS, "mend-all-x").metadata.labels[names.LABEL_COMPONENT]
            == names.COMPONENT_RESOURCE_CLAIM
        )
    )
    # Its pod holds a claim, so it goes when the pod does; and both come back.
    await person.delete(old, RESOURCE_CLAIMS)
    (pod,) = person.pods_of("mend-0-a").values()
    await person.delete(pod, PODS)
    await stage.until(
        lambda: (
            (found := person.get(RESOURCE_CLAIMS, "mend-0-a-0-y")) is not None
            and found.metadata.uid != old.metadata.uid
        )
    )
    await stage.until_ready("mend", 1)
    await stage.remove("mend")


async def test_a_set_whose_template_is_missing_waits_for_it_and_reports_it(stage: Stage) -> None:
    person = stage.person
    await person.create(pcs("late", clique("a", 1), resourceSharing=[shared("later", ALL)]))
    await stage.until(
        lambda: (
            condition(person.get(SETS, "late"), "Stalled").get("reason")
            == "ResourceClaimTemplateMissing"
        )
    )
    assert f"{person.namespace}/later" in condition(person.get(SETS, "late"), "Stalled")["message"]
    assert not stage.pods("late")
    assert "later" in await person.until_event("late", "ResourceClaimTemplateMissing", PATIENCE)
    manifest = {
        "apiVersion": RESOURCE_CLAIM_TEMPLATES.api_version,
        "kind": RESOURCE_CLAIM_TEMPLATES.kind,
        "metadata": {"name": "later", "namespace": person.namespace},
        "spec": claims_one(),
    }
    await person.client.create(
        RESOURCE_CLAIM_TEMPLATES, manifest, field_manager="person", into=PartialObject
    )
    await stage.until_ready("late", 1)
    await stage.until(lambda: holds(person.get(SETS, "late"), "Ready"))
    await stage.remove("late")


async def test_a_claim_that_the_server_refuses_is_reported(stage: Stage) -> None:
    person = stage.person
    wrong: Object = {"spec": {"devices": {"requests": [{"name": "one"}]}}}
    await person.create(
        pcs("wrong", clique("a", 1), resourceSharing=[shared("w", ALL)],
            resourceClaimTemplates=[{"name": "w", "templateSpec": wrong}])
    )  # fmt: skip
    await stage.until(
        lambda: (
            condition(person.get(SETS, "wrong"), "Stalled").get("reason") == "ResourceClaimRefused"
        )
    )
    assert not stage.pods("wrong")
    await stage.remove("wrong")
