"""ComputeDomains for multi-node NVLink: made per replica, claimed from, refused where unknown."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from core_operator.plan.manifests.compute_domains import COMPUTE_DOMAINS
from core_operator.settings import Network
from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import ApiError
from tests.core.kit import Object, clique, condition, pcs, settings
from tests.core.stage import Stage, on_stage

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(180),
]

GROUP = names.ANNOTATION_MNNVL_GROUP
POLICY = Path(__file__).parents[2] / "deploy" / "core" / "admission.yaml"
CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{COMPUTE_DOMAINS.plural}.{COMPUTE_DOMAINS.group}"},
    "spec": {
        "group": COMPUTE_DOMAINS.group,
        "scope": "Namespaced",
        "names": {
            "kind": COMPUTE_DOMAINS.kind,
            "plural": COMPUTE_DOMAINS.plural,
            "singular": "computedomain",
        },
        "versions": [
            {
                "name": COMPUTE_DOMAINS.version,
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                        },
                    }
                },
            }
        ],
    },
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(core_cluster: Cluster) -> AsyncIterator[Stage]:
    """An operator that makes domains, on a cluster that has none yet."""
    chosen = settings(network=Network(auto_mnnvl_enabled=True))
    try:
        async with on_stage(core_cluster, settings=chosen) as shared:
            yield shared
    finally:
        core_cluster.kubectl("delete", "crd", CRD["metadata"]["name"], "--ignore-not-found")


@pytest.fixture(scope="module")
def policy(core_cluster: Cluster) -> Iterator[None]:
    core_cluster.kubectl("apply", "--server-side", "-f", str(POLICY))
    try:
        yield
    finally:
        core_cluster.kubectl("delete", "-f", str(POLICY), "--ignore-not-found")


def workload(name: str, *, replicas: int = 1) -> Object:
    """A clique with GPUs in the set's group, one without, and one that opts out."""
    gpu = clique("gpu", 1)
    resources = {"nvidia.com/gpu": "1"}
    gpu["spec"]["podSpec"]["containers"][0]["resources"] = {"limits": {**resources}}
    out = clique("out", 1)
    out["spec"]["podSpec"]["containers"][0]["resources"] = {"limits": {**resources}}
    out["annotations"] = {GROUP: names.MNNVL_GROUP_NONE}
    made = [gpu, clique("cpu", 1), out]
    return pcs(name, *made, replicas=replicas, annotations={GROUP: "train"})


def domains(stage: Stage) -> dict[str, str]:
    """The domains in the namespace by name, with their groups."""
    listed = stage.cluster.kubectl(
        "get", COMPUTE_DOMAINS.plural, f"--namespace={stage.person.namespace}", "-ojson"
    ).stdout
    return {
        item["metadata"]["name"]: item["metadata"]["labels"][names.LABEL_MNNVL_GROUP]
        for item in json.loads(listed)["items"]
        if "deletionTimestamp" not in item["metadata"]
    }


def claims(pod: LooseObject) -> list[Object]:
    return [*pod.spec.get("resourceClaims", [])]


async def test_domains_wait_for_their_kind_then_follow_the_replicas(stage: Stage) -> None:
    person = stage.person
    await person.create(workload("nv"))
    await stage.until(
        lambda: (
            condition(person.get(SETS, "nv"), "Stalled").get("reason") == "ComputeDomainsMissing"
        )
    )
    assert not stage.pods("nv")
    stage.cluster.kubectl("create", "-f", "-", input=json.dumps(CRD))
    # The pods wait for a claim template that the driver would make; that they ask for it is all.
    await stage.until(lambda: len(stage.pods("nv")) == 3)
    (gpu,) = person.pods_of("nv-0-gpu").values()
    assert claims(gpu) == [{"name": "mnnvl-claim", "resourceClaimTemplateName": "nv-0-train"}]
    assert gpu.spec["containers"][0]["resources"]["claims"] == [{"name": "mnnvl-claim"}]
    assert not [claim for one in ("cpu", "out") for claim in claims(_only(stage, f"nv-0-{one}"))]
    assert domains(stage) == {"nv-0-train": "train"}
    await person.scale(SETS, "nv", 2)
    await stage.until(lambda: len(stage.pods("nv")) == 6)
    assert domains(stage) == {"nv-0-train": "train", "nv-1-train": "train"}
    await person.scale(SETS, "nv", 1)
    await stage.until(lambda: len(stage.pods("nv")) == 3)
    await stage.operator.until_idle()
    assert domains(stage) == {"nv-0-train": "train"}
    await person.delete(person.one(SETS, "nv"), SETS)
    await stage.until(lambda: not stage.pods("nv"))


def _only(stage: Stage, podclique: str) -> LooseObject:
    (pod,) = stage.person.pods_of(podclique).values()
    return pod


async def test_a_group_is_refused_while_the_feature_is_off(stage: Stage) -> None:
    await stage.stop()
    stage.settings = None
    await stage.start()
    await stage.person.create(workload("off"))
    await stage.until(
        lambda: condition(stage.person.get(SETS, "off"), "Stalled").get("reason") == "MNNVLDisabled"
    )
    assert not stage.pods("off")
    await stage.remove("off")


async def test_the_annotation_of_a_set_is_checked_and_fixed(stage: Stage, policy: None) -> None:
    del policy
    person = stage.person
    await person.create(pcs("fixed", clique("a", 1), annotations={GROUP: "none"}))

    async def refuses_a_wrong_name() -> bool:
        wrong = pcs("wrong", clique("a", 1), annotations={GROUP: "Not a name"})
        wrong["metadata"]["namespace"] = person.namespace
        try:
            await person.client.create(
                SETS, wrong, field_manager="person", dry_run=True, into=PartialObject
            )
        except ApiError as error:
            return "must be none or a name" in str(error)
        return False

    # A policy takes a moment to be in force.
    await stage.until_true(refuses_a_wrong_name)
    for said in ("other", None):
        with pytest.raises(ApiError, match="field is immutable"):
            await person.change(SETS, "fixed", {"metadata": {"annotations": {GROUP: said}}})
    await person.change(SETS, "fixed", {"metadata": {"annotations": {"example.com/a": "b"}}})
    await stage.until_ready("fixed", 1)
    await stage.remove("fixed")
