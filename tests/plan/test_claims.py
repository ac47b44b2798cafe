"""Shared claims: which there are at each level, what they claim, and which pods use them."""

import pytest

from core_operator.plan.layout.expansion import CliqueInstance, clique_named, expand
from core_operator.plan.layout.naming import controller_reference
from core_operator.plan.manifests.claims import (
    ClaimTemplate,
    claim_manifest,
    clique_claims,
    external_templates,
    group_claims,
    set_claims,
    shares_claims,
)
from core_operator.plan.manifests.pod_claims import claims_of_pod, local_name, with_claims
from shared_api import names
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.models import JsonObject, PodCliqueSet
from tests.plan.samples import NAMESPACE, clique, group, pod_clique_set, worked_example

ALL, PER = "AllReplicas", "PerReplica"
REQUEST: JsonObject = {
    "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}
}


def shared(name: str, scope: str, **more: object) -> dict[str, object]:
    return {"name": name, "scope": scope, **more}


def template(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "templateSpec": {"spec": REQUEST, **more}}


def workload(**more: object) -> PodCliqueSet:
    """A standalone `a`, and a group of `b` and `c`, which share at every level and scope."""
    only_b: dict[str, object] = {"childCliqueNames": ["b"]}
    return pod_clique_set(
        clique("a", 2, resourceSharing=[shared("x", ALL), shared("y", PER)]),
        clique("b"),
        clique("c"),
        groups=(
            group(
                "s",
                "b",
                "c",
                replicas=2,
                resourceSharing=[shared("x", PER), shared("y", ALL, filter=only_b)],
            ),
        ),
        resourceClaimTemplates=[template("x"), template("y")],
        resourceSharing=[
            shared("x", PER, filter={"childScalingGroupNames": ["s"]}),
            shared("y", ALL),
        ],
        **more,  # type: ignore[arg-type]
    )


def instance(pcs: PodCliqueSet, name: str) -> CliqueInstance:
    found = clique_named(expand(pcs, {}), name)
    assert found is not None
    return found


def test_a_set_has_claims_for_all_its_replicas_and_for_each() -> None:
    found = {claim.name: claim.labels for claim in set_claims(workload(replicas=2))}
    base = {
        names.LABEL_MANAGED_BY: names.MANAGED_BY,
        names.LABEL_PART_OF: "w",
        names.LABEL_COMPONENT: "resource-claim",
    }
    assert found == {
        "w-0-x": {**base, names.LABEL_PCS_REPLICA_INDEX: "0"},
        "w-1-x": {**base, names.LABEL_PCS_REPLICA_INDEX: "1"},
        "w-all-y": base,
    }


def test_a_group_has_claims_for_each_of_its_replicas() -> None:
    pcs = workload()
    (live,) = expand(pcs, {"w-0-s": 3}).groups
    found = {claim.name: claim.labels for claim in group_claims(pcs, live)}
    assert list(found) == ["w-0-s-0-x", "w-0-s-1-x", "w-0-s-2-x", "w-0-s-all-y"]
    assert found["w-0-s-2-x"][names.LABEL_PCSG] == "w-0-s"
    assert found["w-0-s-2-x"][names.LABEL_PCSG_REPLICA_INDEX] == "2"
    assert names.LABEL_PCSG_REPLICA_INDEX not in found["w-0-s-all-y"]


def test_a_podclique_has_claims_for_each_index_and_for_pods_that_were_kept_above_its_size() -> None:
    pcs = workload()
    claims = clique_claims(pcs, instance(pcs, "w-0-a"), 2, [0, 3])
    found = {claim.name: claim.labels for claim in claims}
    assert list(found) == ["w-0-a-all-x", "w-0-a-0-y", "w-0-a-1-y", "w-0-a-3-y"]
    assert found["w-0-a-3-y"][names.LABEL_POD_INDEX] == "3"
    assert found["w-0-a-3-y"][names.LABEL_PODCLIQUE] == "w-0-a"


@pytest.mark.parametrize(
    ("podclique", "index", "claims"),
    [
        ("w-0-a", 1, ["w-all-y", "w-0-a-all-x", "w-0-a-1-y"]),
        ("w-0-s-0-b", 0, ["w-all-y", "w-0-x", "w-0-s-all-y", "w-0-s-0-x"]),
        ("w-0-s-1-c", 0, ["w-all-y", "w-0-x", "w-0-s-1-x"]),
    ],
)
def test_pods_use_what_filters_let_them_in_the_order_of_levels(
    podclique: str, index: int, claims: list[str]
) -> None:
    pcs = workload()
    assert list(claims_of_pod(pcs, instance(pcs, podclique), index)) == claims


def test_every_container_of_a_pod_uses_its_claims_beside_its_own() -> None:
    pod: JsonObject = {
        "metadata": {"name": "p"},
        "spec": {
            "initContainers": [{"name": "fetch"}],
            "containers": [
                {"name": "main", "resources": {"limits": {"cpu": "1"}, "claims": [{"name": "own"}]}}
            ],
            "resourceClaims": [{"name": "own", "resourceClaimTemplateName": "t"}],
        },
    }
    made = with_claims(pod, ["w-all-y"])["spec"]
    assert made == {
        "initContainers": [{"name": "fetch", "resources": {"claims": [{"name": "w-all-y"}]}}],
        "containers": [
            {
                "name": "main",
                "resources": {
                    "limits": {"cpu": "1"},
                    "claims": [{"name": "own"}, {"name": "w-all-y"}],
                },
            }
        ],
        "resourceClaims": [
            {"name": "own", "resourceClaimTemplateName": "t"},
            {"name": "w-all-y", "resourceClaimName": "w-all-y"},
        ],
    }
    assert with_claims(pod, []) is pod


def test_a_claim_whose_name_is_too_long_for_a_pod_has_a_short_one_inside() -> None:
    fits, long = "w" * 63, "w" * 64
    assert local_name(fits) == fits
    assert len(local_name(long)) <= 63
    assert local_name(long) != local_name(f"{long}x")
    assert "." not in local_name("a.b")


def test_a_claim_is_made_of_its_template_and_belongs_to_its_owner() -> None:
    meta: dict[str, object] = {"labels": {"team": "x", names.LABEL_PART_OF: "forged"}}
    pcs = pod_clique_set(
        clique("a"),
        resourceClaimTemplates=[template("x", metadata=meta)],
        resourceSharing=[shared("x", ALL)],
    )
    (claim,) = set_claims(pcs)
    made = claim_manifest(pcs, claim, controller_reference(pcs), lambda _: None)
    metadata = made["metadata"]
    assert isinstance(metadata, dict)
    assert made["spec"] == REQUEST
    assert metadata["labels"] == {**claim.labels, "team": "x"}
    assert metadata["ownerReferences"] == [controller_reference(pcs).manifest()]


def test_a_template_that_is_not_in_the_set_is_an_object_of_its_or_another_namespace() -> None:
    pcs = pod_clique_set(
        clique("a", resourceSharing=[shared("far", PER, namespace="other")]),
        resourceClaimTemplates=[template("x")],
        resourceSharing=[shared("x", ALL), shared("near", ALL)],
    )
    keys = external_templates(pcs)
    assert keys == (ObjectKey(NAMESPACE, "near"), ObjectKey("other", "far"))
    near = next(claim for claim in set_claims(pcs) if claim.sharing.name == "near")
    found = {keys[0]: ClaimTemplate(Metadata(namespace=NAMESPACE), {"spec": {**REQUEST}})}
    made = claim_manifest(pcs, near, controller_reference(pcs), found.get)
    assert made["spec"] == REQUEST


@pytest.mark.parametrize(
    ("annotation", "granted"),
    [
        (None, False),
        ("", False),
        (",", False),
        ("team-b", False),
        (f"{NAMESPACE}-b", False),
        (f"not-{NAMESPACE}", False),
        (NAMESPACE, True),
        (f"team-b, {NAMESPACE}", True),
        ("*", True),
        ("team-b,*", True),
        ("team-*", False),
    ],
)
def test_a_template_of_another_namespace_is_copied_only_with_a_grant(
    annotation: str | None, granted: bool
) -> None:
    pcs = pod_clique_set(clique("a"), resourceSharing=[shared("far", ALL, namespace="other")])
    annotations = {} if annotation is None else {"grove.io/share-with": annotation}
    far = ClaimTemplate(Metadata(namespace="other", annotations=annotations), {"spec": {**REQUEST}})
    (claim,) = set_claims(pcs)
    if granted:
        made = claim_manifest(pcs, claim, controller_reference(pcs), lambda _: far)
        assert made["spec"] == REQUEST
    else:
        with pytest.raises(LookupError, match="other/far"):
            claim_manifest(pcs, claim, controller_reference(pcs), lambda _: far)


def test_a_set_that_shares_nothing_is_left_alone() -> None:
    assert not shares_claims(worked_example())
    assert shares_claims(workload())
