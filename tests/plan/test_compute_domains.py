"""ComputeDomains: who is in which, one per replica and group, and how pods claim from them."""

import pytest

from core_operator.plan.layout.expansion import clique_named, expand
from core_operator.plan.manifests.compute_domains import (
    domain_manifest,
    domains,
    invalid_group,
    names_group,
    with_domain,
)
from shared_api import names
from shared_api.models import JsonObject, PodCliqueSet
from tests.plan.samples import clique, group, pod_clique_set

GROUP = names.ANNOTATION_MNNVL_GROUP


def gpus(amount: object = "8", field: str = "limits") -> dict[str, object]:
    container = {"name": "main", "resources": {field: {"nvidia.com/gpu": amount}}}
    return {"containers": [container, {"name": "sidecar"}]}


def workload(
    *,
    own: str | None = None,
    of_group: str | None = None,
    of_set: str | None = None,
    **more: object,
) -> PodCliqueSet:
    """Clique `a` with GPUs in group `s`, with annotations at three levels."""
    return pod_clique_set(
        clique("a", pod=gpus(), annotations={GROUP: own} if own else {}),
        clique("cpu", annotations={GROUP: "solo"}),
        groups=(group("s", "a", annotations={GROUP: of_group} if of_group else {}),),
        metadata={"annotations": {GROUP: of_set} if of_set else {}},
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("own", "of_group", "of_set", "named"),
    [
        (None, None, None, []),
        (None, None, "train", ["w-0-train"]),
        (None, "infer", "train", ["w-0-infer"]),
        ("batch", "infer", "train", ["w-0-batch"]),
        ("none", "infer", "train", []),
        (None, "none", "train", []),
        ("batch", "none", None, ["w-0-batch"]),
    ],
)
def test_the_closest_annotation_decides_and_none_opts_out(
    own: str | None, of_group: str | None, of_set: str | None, named: list[str]
) -> None:
    pcs = workload(own=own, of_group=of_group, of_set=of_set)
    assert [domain.name for domain in domains(pcs)] == named


@pytest.mark.parametrize(
    ("pod", "count"),
    [
        (gpus(1), 1),
        (gpus("2", "requests"), 1),
        (gpus("0"), 0),
        (gpus(0), 0),
        ({"containers": []}, 0),
    ],
)
def test_only_cliques_that_ask_for_gpus_count(pod: dict[str, object], count: int) -> None:
    pcs = pod_clique_set(clique("a", pod=pod, annotations={GROUP: "train"}))
    assert len(domains(pcs)) == count


def test_each_replica_has_a_domain_of_its_own() -> None:
    found = domains(workload(of_set="train", replicas=2))
    assert [(domain.name, domain.pcs_index) for domain in found] == [
        ("w-0-train", 0),
        ("w-1-train", 1),
    ]


def test_a_domain_is_made_as_in_grove() -> None:
    pcs = workload(of_set="train")
    (domain,) = domains(pcs)
    made = domain_manifest(pcs, domain)
    metadata = made["metadata"]
    assert isinstance(metadata, dict)
    assert made["apiVersion"] == "resource.nvidia.com/v1beta1"
    assert made["spec"] == {
        "numNodes": 0,
        "channel": {"resourceClaimTemplate": {"name": "w-0-train"}},
    }
    assert metadata["labels"] == {
        names.LABEL_MANAGED_BY: names.MANAGED_BY,
        names.LABEL_PART_OF: "w",
        names.LABEL_PCS_REPLICA_INDEX: "0",
        names.LABEL_APP_NAME: "w-0-train",
        names.LABEL_COMPONENT: "pcs-computedomain",
        names.LABEL_MNNVL_GROUP: "train",
    }


def test_only_containers_with_gpus_use_the_domain() -> None:
    pcs = workload(of_set="train")
    expansion = expand(pcs, {})
    main: JsonObject = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    pod: JsonObject = {"spec": {"containers": [{"name": "sidecar"}, main]}}
    member, other = clique_named(expansion, "w-0-s-0-a"), clique_named(expansion, "w-0-cpu")
    assert member is not None
    assert other is not None
    spec = with_domain(pod, pcs, member)["spec"]
    assert isinstance(spec, dict)
    assert spec["resourceClaims"] == [
        {"name": "mnnvl-claim", "resourceClaimTemplateName": "w-0-train"}
    ]
    assert spec["containers"] == [
        {"name": "sidecar"},
        {
            "name": "main",
            "resources": {"limits": {"nvidia.com/gpu": "8"}, "claims": [{"name": "mnnvl-claim"}]},
        },
    ]
    assert with_domain(pod, pcs, other) is pod


def test_a_name_that_is_none_is_found_and_so_is_that_a_group_is_named() -> None:
    assert invalid_group(workload(of_set="Not a name")) == "Not a name"
    assert invalid_group(workload(of_set="none")) is None
    assert invalid_group(workload()) is None
    assert names_group(workload(of_set="train"))
    quiet = pod_clique_set(clique("a", pod=gpus(), annotations={GROUP: "none"}))
    assert not names_group(quiet)
