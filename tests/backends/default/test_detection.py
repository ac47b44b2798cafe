"""What is found in a cluster decides the form, and what is not found is said with its remedy."""

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from backend_controllers.contract.declaration import Absent, Dialect
from backend_controllers.default import BACKEND
from backend_controllers.default.options import DefaultOptions
from backend_controllers.default.served import PROTECTION
from backend_controllers.generic.process import lease_of
from backend_controllers.generic.record import record_manifest
from backend_controllers.settings import defaults
from shared_api import names
from tests.backends.default.kit import (
    PRIORITY,
    TOPOLOGY,
    TREE,
    V135,
    V136,
    V137,
    Known,
    dialect,
    gang,
    served,
)

SAMPLES = Path(__file__).parents[2] / "contract" / "samples" / "backends"
BASIC = {"Gang", "GroupMinimums", "ElasticSurplus"}
PLAIN = {"withoutGangSupport": "PlainScheduling"}
REFUSE = DefaultOptions.model_validate({"withoutGangSupport": "Refuse"})


@pytest.mark.parametrize(
    ("kinds", "kept", "name", "capabilities"),
    [
        (V135, (), "scheduling.k8s.io/v1alpha1", set()),
        (V136, (), "scheduling.k8s.io/v1alpha2", set()),
        (V136, (TOPOLOGY,), "scheduling.k8s.io/v1alpha2", {"TopologyRequiredGang"}),
        (V136, (PRIORITY,), "scheduling.k8s.io/v1alpha2", {"Priority"}),
        (V137, (), "scheduling.k8s.io/v1beta1", {"Priority", "ResizeInPlace"}),
        (
            V137,
            (TOPOLOGY,),
            "scheduling.k8s.io/v1beta1",
            {"Priority", "ResizeInPlace", "TopologyRequiredGang"},
        ),
        (TREE, (), "scheduling.k8s.io/v1beta1", {"Priority", "ResizeInPlace"}),
        (
            TREE,
            (TOPOLOGY,),
            "scheduling.k8s.io/v1beta1+v1alpha3",
            {
                "Hierarchy",
                "Priority",
                "ResizeInPlace",
                "TopologyRequiredGang",
                "TopologyRequiredGroup",
                "TopologyRequiredGroupSet",
            },
        ),
        ((*V135, *V136), (), "scheduling.k8s.io/v1alpha2", set()),
    ],
)
def test_newest_form_that_is_served_is_spoken(
    kinds: tuple[str, ...], kept: tuple[str, ...], name: str, capabilities: set[str]
) -> None:
    found = dialect(*kinds, kept=kept)
    assert found.name == name
    assert found.capabilities == BASIC | capabilities


def test_surplus_counts_for_the_minimum_only_where_it_is_in_the_group_of_the_members() -> None:
    apart = [dialect(*kinds) for kinds in (V135, V136, V137)]
    assert not any(found.surplus_stands_in for found in apart)
    alike = [dialect(*TREE), dialect(kept=(), **PLAIN)]
    assert all(found.surplus_stands_in for found in alike)


def test_groups_are_written_after_what_they_name() -> None:
    plurals = [writes.resource.plural for writes in dialect(*TREE).writes]
    assert plurals == ["workloads", "compositepodgroups", "podgroups"]


@pytest.mark.parametrize("kinds", [V136, V137, TREE])
def test_protection_of_pod_groups_may_be_taken_off(kinds: tuple[str, ...]) -> None:
    finalizers = {w.resource.plural: w.finalizers for w in dialect(*kinds).writes}
    assert finalizers.pop("podgroups") == (PROTECTION,)
    assert not any(finalizers.values())


@pytest.mark.parametrize(
    ("kinds", "probed"),
    [
        ((), {}),
        (V135, {}),
        (V136, {TOPOLOGY: "v1alpha2", PRIORITY: "v1alpha2"}),
        (V137, {TOPOLOGY: "v1beta1"}),
    ],
)
def test_gated_fields_are_probed_in_the_version_that_is_spoken(
    kinds: tuple[str, ...], probed: dict[str, str]
) -> None:
    probes = BACKEND.questions.probes(served(*kinds))
    assert {probe.name: probe.resource.version for probe in probes} == probed


@pytest.mark.parametrize(
    ("kubernetes", "said", "unsaid"),
    [
        ("v1.34.2", ["upgrade to Kubernetes 1.35"], ["--feature-gates"]),
        (
            "v1.35.8",
            [
                "kube-apiserver --feature-gates=GenericWorkload=true"
                " --runtime-config=scheduling.k8s.io/v1alpha1=true",
                "kube-scheduler --feature-gates=GenericWorkload=true,GangScheduling=true",
            ],
            ["kube-controller-manager", "v1alpha2"],
        ),
        (
            "v1.36.4+k3s1",
            [
                "--runtime-config=scheduling.k8s.io/v1alpha2=true",
                "kube-controller-manager --feature-gates=GenericWorkload=true",
            ],
            ["v1alpha1", "v1beta1"],
        ),
        (
            "v1.37.0-rc.1",
            ["scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"],
            ["GangScheduling", "WorkloadAwarePreemption"],
        ),
        ("", ["1.35: kube-apiserver", "1.36: kube-apiserver", "1.37: kube-apiserver"], []),
        ("v1.40.0", ["1.37: kube-apiserver"], []),
    ],
)
def test_missing_api_is_reported_with_the_flags_of_that_version(
    kubernetes: str, said: list[str], unsaid: list[str]
) -> None:
    found = BACKEND.detect(served(kubernetes=kubernetes), REFUSE)
    assert isinstance(found, Absent)
    assert "scheduling.k8s.io" in found.missing
    for text in (*said, "GangByTimeout or PlainScheduling"):
        assert text in found.remedy
    for text in unsaid:
        assert text not in found.remedy


def test_missing_api_does_not_make_gangs_unsupported() -> None:
    found = BACKEND.detect(served(), REFUSE)
    assert names.CAPABILITY_GANG in found.capabilities


def test_half_of_an_api_is_none() -> None:
    for kinds in (("v1alpha2/workloads",), ("v1beta1/podgroups",), ("v1alpha3/podgroups",)):
        assert isinstance(BACKEND.detect(served(*kinds), REFUSE), Absent)


def test_plain_scheduling_claims_no_gangs_and_reports_it_everywhere() -> None:
    found = BACKEND.detect(served(kubernetes="v1.36.4"), DefaultOptions.model_validate(PLAIN))
    assert isinstance(found, Dialect)
    assert found.capabilities == {"PlainScheduling"}
    assert "not guaranteed" in found.warning
    assert "v1alpha2=true" in found.warning
    translation = found.translate(gang(), Known())
    assert not translation.objects
    assert not translation.refusals
    assert "one by one" in translation.remarks[0]


def test_a_cluster_without_gangs_keeps_them_whole_by_a_timeout_and_reports_it_everywhere() -> None:
    found = dialect(bindTimeoutSeconds=120)
    assert found.name == "gang-by-timeout"
    assert found.capabilities == {"GangByTimeout", "GroupMinimums", "ElasticSurplus"}
    assert "not bound within 120 s gives back its pods" in found.warning
    translation = found.translate(gang(), Known())
    assert not translation.objects
    assert "not bound within 120 s" in translation.remarks[0]
    spec = record_manifest(BACKEND, found, None)["spec"]
    assert isinstance(spec, dict)
    assert spec["release"] == {"surplus": "AfterScheduled", "bindTimeoutSeconds": 120}


@pytest.mark.parametrize("kinds", [V135, V136, V137, TREE])
def test_there_is_no_timeout_where_gangs_are_served(kinds: tuple[str, ...]) -> None:
    spec = record_manifest(BACKEND, dialect(*kinds), None)["spec"]
    assert isinstance(spec, dict)
    assert "release" not in spec


@pytest.mark.parametrize("instead", ["PlainScheduling", "GangByTimeout"])
def test_required_topology_is_refused_without_gang_scheduling(instead: str) -> None:
    found = dialect(withoutGangSupport=instead)
    translation = found.translate(gang(keys={"a": "rack"}), Known())
    assert len(translation.refusals) == 1
    assert translation.refusals[0].startswith("spec.podgroups[a].topologyConstraint")


def test_plain_scheduling_is_not_used_where_gangs_are_served() -> None:
    assert dialect(*V136, withoutGangSupport="PlainScheduling").name.endswith("v1alpha2")


def test_misspelt_settings_are_refused() -> None:
    with pytest.raises(ValidationError):
        DefaultOptions.model_validate({"withoutGangSuport": "Refuse"})


def test_pods_without_a_scheduler_name_are_this_backends() -> None:
    assert BACKEND.scheduler_names == ("", "default-scheduler")
    assert BACKEND.scheduling_gate == "scheduling.k8s.io/workload"


@pytest.mark.parametrize(
    ("sample", "kinds"), [("default-135", V135), ("default", V136)], ids=["1.35", "1.36"]
)
def test_the_contracts_samples_are_our_records(sample: str, kinds: tuple[str, ...]) -> None:
    shown = yaml.safe_load((SAMPLES / f"{sample}.yaml").read_text())
    lease = lease_of(BACKEND, defaults(BACKEND.options))
    assert record_manifest(BACKEND, dialect(*kinds), lease)["spec"] == shown["spec"]
