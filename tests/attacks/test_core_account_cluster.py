"""The account of core makes, changes and deletes what belongs to sets, and nothing else."""

import json

import pytest

from local_cluster.cluster import Cluster
from shared_api import names
from tests.attacks.conftest import TakenOver
from tests.attacks.kit import account
from tests.core.kit import clique, pcs
from tests.deploy.kit import NAMESPACE
from tests.deploy.people import MANAGED, Object, Person, pod, podclique

pytestmark = pytest.mark.cluster

_CORE = "core-operator"


def _owner(kind: str, name: str = "w") -> Object:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": kind,
        "name": name,
        "uid": "11111111-1111-1111-1111-111111111111",
        "controller": True,
    }


def _service(name: str, **metadata: object) -> Object:
    spec = {"clusterIP": "None", "selector": {"app": "payments"}}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def _modest(manifest: Object) -> Object:
    """Return a pod that the strictest of the Pod Security Standards admits."""
    manifest["spec"]["securityContext"] = {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    manifest["spec"]["containers"][0]["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    return manifest


@pytest.mark.parametrize("place", ["kube-system", "kube-public", NAMESPACE])
def test_core_cannot_make_pods_where_the_cluster_lives(place: str, taken_over: TakenOver) -> None:
    core = taken_over(_CORE, place)
    manifest = _modest(pod("p", ownerReferences=[_owner("PodClique")]))
    assert core.refusal("create", "-f", "-", "--dry-run=server", input=manifest) == (
        f"Pod p: core creates nothing in namespace {place}; create the PodCliqueSet in another one"
    )


def test_core_cannot_make_pods_that_belong_to_no_clique(taken_over: TakenOver) -> None:
    core = taken_over(_CORE)
    for owners in ([], [_owner("PodCliqueSet")], [{**_owner("PodClique"), "controller": False}]):
        manifest = pod("p", ownerReferences=owners)
        assert core.refusal("create", "-f", "-", input=manifest) == (
            "Pod p must have a controller of kind PodClique: core creates only what belongs to a"
            " PodCliqueSet"
        )
    assert core.refusal("create", "-f", "-", input=_service("s"))
    core.do("create", "-f", "-", input=pod("p", ownerReferences=[_owner("PodClique")]))
    service = _service("s", ownerReferences=[_owner("PodCliqueSet")])
    core.do("create", "-f", "-", input=service)


def test_core_changes_nothing_of_a_set_but_the_finalizer_of_grove(
    product: Cluster, home: str, taken_over: TakenOver
) -> None:
    tenant, core = Person(product, home), taken_over(_CORE)
    theirs = pcs("mine", clique("a"), replicas=0)
    theirs["metadata"]["finalizers"] = ["example.com/keep", names.FINALIZER_GROVE_PCS]
    tenant.do("create", "-f", "-", input=theirs)
    # kubectl reads what it patches; core does not, and may not.
    tenant.do("create", "role", "reader", "--verb=get", "--resource=podcliquesets.grove.io")
    reader = f"--serviceaccount={NAMESPACE}:{_CORE}"
    tenant.do("create", "rolebinding", "reader", "--role=reader", reader)
    patch = ("patch", "pcs", "mine", "--type=merge", "-p")
    for body in (
        {"spec": {"replicas": 3}},
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"finalizers": [names.FINALIZER_GROVE_PCS]}},
        {"metadata": {"finalizers": ["example.com/keep", names.FINALIZER_GROVE_PCS, "a.b/c"]}},
    ):
        assert "PodCliqueSet mine belongs to its user" in core.refusal(*patch, json.dumps(body))
    core.do(*patch, json.dumps({"metadata": {"finalizers": ["example.com/keep"]}}))
    tenant.do(*patch, json.dumps({"metadata": {"finalizers": None}}))
    tenant.do("delete", "pcs", "mine")


def test_core_cannot_change_or_delete_what_others_made(
    product: Cluster, home: str, taken_over: TakenOver
) -> None:
    tenant, core = Person(product, home), taken_over(_CORE)
    foreign = pod("foreign")
    del foreign["metadata"]["labels"]
    tenant.do("create", "-f", "-", input=foreign)
    tenant.do("create", "-f", "-", input=_service("payments"))
    for api, kind, name in (("v1", "Pod", "foreign"), ("v1", "Service", "payments")):
        words = f"{kind} {name} belongs to no PodCliqueSet: core neither changes nor deletes it"
        assert core.refusal("delete", f"{kind}/{name}") == words
        change: Object = {"apiVersion": api, "kind": kind}
        change["metadata"] = {"name": name, "labels": MANAGED}
        assert core.applied(change) == words
    tenant.do("create", "-f", "-", input=podclique("c"))
    core.do("delete", "podclique/c")


def test_a_tenant_with_an_account_of_the_same_name_gains_nothing(
    product: Cluster, home: str
) -> None:
    namesake = account(product, _CORE, home, of=home)
    assert "forbidden" in namesake.refused("create", "-f", "-", input=podclique("c"))
