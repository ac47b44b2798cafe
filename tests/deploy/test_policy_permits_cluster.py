"""What the policies must not be in the way of: people's daily work, and the cluster's own."""

import json

import pytest

from local_cluster.cluster import Cluster
from local_cluster.waiting import wait_until
from shared_api import names
from tests.core.kit import clique, pcs
from tests.deploy.kit import PATIENCE, rendered
from tests.deploy.people import Object, Person, pod, podclique, podgang, scaling_group

pytestmark = pytest.mark.cluster


_STATUSES = {"podgangs/status", "schedulerbackends/status"}
"""Written by our controllers and nobody else."""
_NARROWED = {
    "grove-core-account",
    "grove-backend-objects",
    "grove-managed-children",
    "grove-backend-pods",
}
"""They match deletions, and only those by one account of ours, or of children that core made."""


def test_every_expression_is_sound_and_no_one_elses_requests_are_matched(policed: Cluster) -> None:
    policies = [item for item in rendered(policed, "policies") if "Policy" in item["kind"]]
    names_of = {item["metadata"]["name"] for item in policies}
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

    def checked(found: list[Object]) -> bool:
        ours = [item for item in found if item["metadata"]["name"] in names_of]
        return len(ours) == len(names_of) and all(
            "typeChecking" in item.get("status", {}) for item in ours
        )

    found = wait_until(policed.kubeconfig, path, checked, seconds=PATIENCE)
    for policy in (item for item in found if item["metadata"]["name"] in names_of):
        assert policy["status"]["typeChecking"] == {}, policy["status"]
        # Scale, binding, eviction, resize, status of pods: none of these is a plain update.
        rules = policy["spec"]["matchConstraints"]["resourceRules"]
        matched = {name for rule in rules for name in rule["resources"]}
        if policy["metadata"]["name"] != "grove-backend-pods":
            assert not any("/" in name or "*" in name for name in matched - _STATUSES)
        if policy["metadata"]["name"] not in _NARROWED:
            assert not any("DELETE" in rule["operations"] for rule in rules)
        # The policy sees all pods: a request that it does not cover is admitted before any lookup.
        selector = policy["spec"]["matchConstraints"].get("objectSelector")
        if "pods" in matched and not selector:
            assert policy["spec"]["matchConditions"], policy["metadata"]["name"]


def test_people_scale_label_and_delete_what_core_made(policed: Cluster, space: str) -> None:
    core, alice = Person(policed, space), Person(policed, space, "alice").empowered()
    core.do("create", "-f", "-", input=pcs("w", clique("a")))
    for manifest in (
        podclique("c"),
        scaling_group("g"),
        podgang("w-0"),
        pod("p", "grove.io/podgang"),
    ):
        core.do("create", "-f", "-", input=manifest)
    for kind, name in (("pcs", "w"), ("pclq", "c"), ("pcsg", "g")):
        alice.do("scale", kind, name, "--replicas=2")
    # Not by way of the subresource: an edit, or an apply of somebody's own manifest.
    direct = json.dumps({"spec": {"replicas": 3}})
    alice.do("patch", "pclq", "c", "--type=merge", "-p", direct)
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "c", "namespace": space},
        "spec": {"replicas": 4},
    }
    path = f"/apis/grove.io/v1alpha1/namespaces/{space}/podcliques/c/scale"
    autoscaler = Person(
        policed, space, "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
    )
    autoscaler.do("replace", "--raw", path, "-f", "-", input=scale)
    for kind, name in (("pclq", "c"), ("podgang", "w-0"), ("pod", "p")):
        alice.do("label", kind, name, "team=blue")
        alice.do("annotate", kind, name, "note=mine")
    alice.do("delete", "pod", "p")
    alice.do("delete", "pclq", "c", "--cascade=foreground")
    alice.do("delete", "pcsg/g", "podgang/w-0", "pcs/w")


def test_gates_of_others_and_gangs_of_ones_own_are_free(policed: Cluster, space: str) -> None:
    core, alice = Person(policed, space), Person(policed, space, "alice").empowered()
    core.do("create", "-f", "-", input=pod("p", "example.com/quota", names.GATE_PODGANG))
    lift = json.dumps([{"op": "remove", "path": "/spec/schedulingGates/0"}])
    alice.do("patch", "pod", "p", "--type=json", "-p", lift)
    gang = podgang("own")
    del gang["metadata"]["labels"][names.LABEL_MANAGED_BY]
    alice.do("create", "-f", "-", input=gang)
    alice.do("label", "podgang", "own", "--overwrite", "grove.io/scheduler-backend=kai")
    smaller = json.dumps({"spec": {"priorityClassName": "high"}})
    alice.do("patch", "podgang", "own", "--type=merge", "-p", smaller)


def test_the_right_to_write_can_be_given_in_one_namespace(policed: Cluster, space: str) -> None:
    core, bob = Person(policed, space), Person(policed, space, "bob").empowered()
    core.do("create", "-f", "-", input=podclique("c"))
    minimum = (
        "patch",
        "pclq",
        "c",
        "--type=merge",
        "-p",
        json.dumps({"spec": {"minAvailable": 1}}),
    )
    assert bob.refusal(*minimum)
    role = "--clusterrole=grove-managed-objects-writer"
    core.do("create", "rolebinding", "writer", role, "--user=bob")
    # The authorizer hears of a new binding by a watch of its own.
    for _ in range(200):
        if not bob.refusal(*minimum, "--dry-run=server"):
            break
    bob.do(*minimum)


def test_schedulers_bind_kubelets_report_and_people_evict(policed: Cluster, space: str) -> None:
    core, alice = Person(policed, space), Person(policed, space, "alice").empowered()
    core.do("create", "-f", "-", input=pod("p"))
    core.do("wait", "--for=condition=Ready", "pod/p", "--timeout=60s")
    # Bound by kube-scheduler under its own name, and not by an administrator.
    lines = policed.audit_log.read_text().splitlines()
    bindings = [
        entry["user"]["username"]
        for entry in map(json.loads, (line for line in lines if '"binding"' in line))
        if entry["objectRef"]["namespace"] == space
    ]
    assert bindings == ["system:kube-scheduler"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p", "namespace": space},
    }
    alice.do(
        "create", "--raw", f"/api/v1/namespaces/{space}/pods/p/eviction", "-f", "-", input=eviction
    )
    core.do("wait", "--for=delete", "pod/p", "--timeout=60s")


def test_the_garbage_collector_orphans_and_collects(policed: Cluster, space: str) -> None:
    core = Person(policed, space)
    core.do("create", "-f", "-", input=pcs("w", clique("a")))
    uid = core.do("get", "pcs", "w", "-o", "jsonpath={.metadata.uid}")
    owner = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "name": "w",
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    core.do("create", "-f", "-", input=podclique("kept", ownerReferences=[owner]))
    core.do("delete", "pcs", "w", "--cascade=orphan", "--timeout=60s")
    kept = core.do("get", "pclq", "kept", "-o", "jsonpath={.metadata.ownerReferences}")
    assert kept == "", "the owner reference is taken off by the garbage collector"
    gone = {**owner, "uid": "00000000-0000-0000-0000-000000000000"}
    core.do("create", "-f", "-", input=podgang("lost", ownerReferences=[gone]))
    core.do("wait", "--for=delete", "podgang/lost", "--timeout=60s")


def test_a_namespace_goes_away_with_all_that_core_made_in_it(policed: Cluster, space: str) -> None:
    core = Person(policed, space)
    for manifest in (podclique("c"), podgang("w-0"), pod("p", names.GATE_PODGANG)):
        core.do("create", "-f", "-", input=manifest)
    core.do("delete", "namespace", space, "--timeout=90s")
