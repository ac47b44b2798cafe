"""The operator as it is deployed: two replicas, its own rights, on the process node."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from local_cluster.process_node.placement import place_on_process_node
from local_cluster.waiting import wait_until
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import HPAS, LEASES, PODS
from tests.core.kit import Onlooker, clique, holds, pcs
from tests.core.stand_in import StandIn

pytestmark = pytest.mark.cluster

BASE = Path(__file__).parents[2] / "deploy" / "core"
NAMESPACE = "grove-system"


def manifests(cluster: Cluster) -> list[dict[str, Any]]:
    rendered = cluster.kubectl("kustomize", str(BASE)).stdout
    return [manifest for manifest in yaml.safe_load_all(rendered) if manifest]


def own_rules(cluster: Cluster) -> list[dict[str, Any]]:
    """The rights of core itself, and not those of people, which go into Kubernetes' own roles."""
    return [
        rule
        for manifest in manifests(cluster)
        if manifest["kind"] in ("ClusterRole", "Role")
        and not any("aggregate-to" in key for key in manifest["metadata"].get("labels", {}))
        for rule in manifest["rules"]
    ]


@pytest.fixture
def deployed(core_cluster: Cluster) -> Iterator[Cluster]:
    placed = [place_on_process_node(manifest) for manifest in manifests(core_cluster)]
    listing = json.dumps({"apiVersion": "v1", "kind": "List", "items": placed})
    core_cluster.kubectl("apply", "--server-side", "-f", "-", input=listing)
    core_cluster.kubectl(
        "rollout", "status", "deployment/core-operator", f"--namespace={NAMESPACE}", "--timeout=60s"
    )
    yield core_cluster
    # Deleted, not scaled: `kubectl set image` owns the image now, and the next apply would conflict.
    core_cluster.kubectl("delete", "deployment/core-operator", f"-n{NAMESPACE}")
    wait_until(
        core_cluster.kubeconfig, f"/api/v1/namespaces/{NAMESPACE}/pods", lambda pods: not pods
    )


@pytest.mark.timeout(180)
async def test_the_deployment_runs_gangs_with_the_rights_that_it_has(
    deployed: Cluster, person: Onlooker
) -> None:
    async with StandIn(person.client, "default").serving():
        group = {
            "name": "s",
            "cliqueNames": ["b"],
            "replicas": 2,
            "minAvailable": 1,
            "scaleConfig": {"maxReplicas": 2},
        }
        workload = pcs("w", clique("a", 2), clique("b", 1), podCliqueScalingGroups=[group])
        await person.create(workload)
        await person.until_ready(4)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"))
        await person.until_event("w", "Selected")
        await person.until(lambda: person.names(HPAS) == ["w-0-s"])
        # The leader goes, the other one takes over: a change is still carried out.
        lease = await person.client.get(LEASES, "core-operator", NAMESPACE, into=LooseObject)
        leader = lease.spec["holderIdentity"].rsplit("_", 1)[0]
        await asyncio.to_thread(
            deployed.kubectl, "delete", "pod", leader, f"--namespace={NAMESPACE}", "--wait=false"
        )
        await person.scale(SETS, "w", 2)
        await person.until_ready(8, seconds=40)
        await person.scale(SETS, "w", 1)
        await person.until(lambda: len(person.pods) == 4)
        await person.until(lambda: person.names(HPAS) == ["w-0-s"])


@pytest.mark.timeout(180)
async def test_pods_with_a_startup_order_run_the_image_of_cores_deployment(
    deployed: Cluster, person: Onlooker
) -> None:
    image = ("set", "image", "deployment/core-operator", f"-n{NAMESPACE}")
    rollout = ("rollout", "status", "deployment/core-operator", f"-n{NAMESPACE}", "--timeout=60s")
    # The process node runs this checkout, whatever the name of the image.
    await asyncio.to_thread(deployed.kubectl, *image, "core-operator=example.com/mirror/podgang:x")
    await asyncio.to_thread(deployed.kubectl, *rollout)
    async with StandIn(person.client, "default").serving():
        order = "CliqueStartupTypeInOrder"
        await person.create(pcs("w", clique("a", 1), clique("b", 1), cliqueStartupType=order))
        await person.until(lambda: len(person.pods) == 2)
        (name,) = (
            pod.metadata.name for pod in person.pods if pod.metadata.name.startswith("w-0-b-")
        )
        found = await person.client.get(PODS, name, person.namespace, into=LooseObject)
    assert [one["image"] for one in found.spec["initContainers"]] == [
        "example.com/mirror/podgang:x"
    ]


def test_core_may_do_nothing_that_it_does_not_need(core_cluster: Cluster) -> None:
    rules = own_rules(core_cluster)
    groups = {group for rule in rules for group in rule["apiGroups"]}
    assert groups == {
        "",
        "apps",
        "autoscaling",
        "coordination.k8s.io",
        "events.k8s.io",
        "grove.io",
        "policy.grove.io",
        "resource.k8s.io",
        "scheduler.grove.io",
    }
    words = {word for rule in rules for word in (*rule["resources"], *rule["verbs"])}
    assert not words & {"*", "secrets", "deletecollection", "escalate", "impersonate"}
    gets = [rule for rule in rules if "get" in rule["verbs"]]
    # Its Lease, and its own pod for the image, both in its own namespace.
    assert [rule.get("resourceNames", rule["resources"]) for rule in gets] == [
        ["core-operator"],
        ["pods"],
    ]
    own = [m for m in manifests(core_cluster) if any(r in m.get("rules", []) for r in gets)]
    assert [(m["kind"], m["metadata"]["namespace"]) for m in own] == [("Role", NAMESPACE)]


def test_core_may_name_the_owners_of_its_children_where_that_is_guarded(
    core_cluster: Cluster,
) -> None:
    # OwnerReferencesPermissionEnforcement requires this right of each client that sets blockOwnerDeletion.
    rules = [rule for rule in own_rules(core_cluster) if "update" in rule["verbs"]]
    assert [(rule["apiGroups"], rule["verbs"]) for rule in rules] == [(["grove.io"], ["update"])]
    owners = ("podcliquesets", "podcliques", "podcliquescalinggroups")
    assert rules[0]["resources"] == [f"{owner}/finalizers" for owner in owners]
