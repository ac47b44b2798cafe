"""Who may delete or change what core made, and what the server warns about."""

import json
import time

import pytest

from local_cluster.cluster import Cluster
from shared_api import names
from tests.core.kit import Object, clique, pcs
from tests.deploy.people import Person, podclique, podgang, scaling_group

pytestmark = pytest.mark.cluster

DISABLED = {names.ANNOTATION_DISABLE_PROTECTION: "true"}


def owned(core: Person, manifest: Object, **metadata: Object) -> Object:
    """A child of the set `w`, as core creates it."""
    uid = core.do("get", "pcs", "w", "-o", "jsonpath={.metadata.uid}")
    owner = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "name": "w",
        "uid": uid,
        "controller": True,
    }
    found = {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}
    found["metadata"] |= metadata
    core.do("create", "-f", "-", input=found)
    return found


def service(name: str) -> Object:
    labels = podclique(name)["metadata"]["labels"]
    spec = {"clusterIP": "None", "selector": {"a": "b"}}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


def autoscaler(name: str) -> Object:
    target = {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": name}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "labels": podclique(name)["metadata"]["labels"]},
        "spec": {"minReplicas": 1, "maxReplicas": 2, "scaleTargetRef": target},
    }


def test_what_core_made_is_deleted_by_core_alone_unless_its_set_permits_it(
    policed: Cluster, space: str
) -> None:
    core, alice = Person(policed, space), Person(policed, space, "alice").empowered()
    core.do("create", "clusterrole", f"services-{space}", "--verb=*", "--resource=services,hpa")
    role = f"--clusterrole=services-{space}"
    core.do("create", "rolebinding", "services", role, "--user=alice")
    core.do("create", "-f", "-", input=pcs("w", clique("a")))
    made = {
        "podclique": podclique("c"),
        "podcliquescalinggroup": scaling_group("g"),
        "podgang": podgang("w-0"),
        "service": service("w-0"),
        "hpa": autoscaler("c"),
    }
    for manifest in made.values():
        owned(core, manifest)
    for kind, manifest in made.items():
        name = manifest["metadata"]["name"]
        alice.until_refused("delete", kind, name)
        assert "is managed by core and would be created again" in alice.refusal(
            "delete", kind, name
        )
        annotate = ("annotate", kind, name, f"{names.ANNOTATION_DISABLE_PROTECTION}=true")
        assert "is protected" in alice.refusal(*annotate)
    more = json.dumps({"spec": {"maxReplicas": 9}})
    assert "is managed by core" in alice.refusal("patch", "hpa", "c", "--type=merge", "-p", more)
    other = json.dumps({"spec": {"selector": {"a": "c"}}})
    assert "is managed by core" in alice.refusal(
        "patch", "service", "w-0", "--type=merge", "-p", other
    )
    # Core repeats the annotation of the set on its children.
    for kind, manifest in made.items():
        name = manifest["metadata"]["name"]
        core.do("annotate", kind, name, f"{names.ANNOTATION_DISABLE_PROTECTION}=true")
    alice.do("patch", "hpa", "c", "--type=merge", "-p", more)
    for kind, manifest in made.items():
        alice.do("delete", kind, manifest["metadata"]["name"], "--wait=false")


def warnings_of(cluster: Cluster, space: str, manifest: Object) -> str:
    words = ("apply", "--dry-run=server", "-n", space, "-f", "-")
    return cluster.kubectl(*words, input=json.dumps(manifest)).stderr


def test_the_server_warns_about_what_it_admits(policed: Cluster, space: str) -> None:
    policed.kubectl("apply", "-f", "deploy/core/warnings.yaml")
    binding = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": f"net-{space}"},
        "spec": {"levels": [{"domain": "zone", "key": "t/z"}, {"domain": "rack", "key": "t/r"}]},
    }
    policed.kubectl("apply", "-f", "-", input=json.dumps(binding))
    ending = clique("a", podSpec={"restartPolicy": "Never"})
    pack = {"required": "rack", "preferred": "zone"}
    coarse = pcs("w", ending, topologyConstraint={"topologyName": f"net-{space}", "pack": pack})
    deadline = time.monotonic() + 30
    # Nobody announces that a policy is in force; every attempt is a request to the server.
    while "coarser" not in (found := warnings_of(policed, space, coarse)):
        assert time.monotonic() < deadline, found
    assert "restartPolicy of a is not Always" in found
    assert "pack.preferred zone is coarser than pack.required rack and is redundant" in found
    fine = {"required": "zone", "preferred": "rack"}
    plain = pcs("w", clique("a"), topologyConstraint={"topologyName": f"net-{space}", "pack": fine})
    assert "Warning" not in warnings_of(policed, space, plain)
    policed.kubectl("delete", "-f", "deploy/core/warnings.yaml")
    policed.kubectl("delete", "clustertopologybinding", f"net-{space}")
