"""What `doctor` finds in a healthy installation, and in broken ones."""

from typing import Any

from gangctl.rendering import plain
from gangctl.reports.doctor import Check, ServerAnswers, doctor_report, doctor_view
from gangctl.reports.view import Verdict
from gangctl.snapshot import ListedDeployment, ListedLease, ListedPod, Snapshot
from shared_api.kube.codec import LooseObject
from tests.gangctl.scene import LEASE, backend, conditions, made, node, snapshot

OURS = {
    "grove.io/v1alpha1": frozenset(
        {
            "PodCliqueSet",
            "PodClique",
            "PodCliqueScalingGroup",
            "SchedulerBackend",
            "ClusterTopologyBinding",
        }
    ),
    "scheduler.grove.io/v1alpha1": frozenset({"PodGang"}),
}
FACTS = ServerAnswers(OURS, {"list nodes": True})
CORE_LEASE = made(
    ListedLease,
    metadata={"name": "core-operator", "namespace": "grove-system"},
    spec={"holderIdentity": "core-1", "renewTime": "2026-01-01T11:59:58.000000Z"},
)
BINDING = made(
    LooseObject,
    metadata={"name": "cluster"},
    spec={"levels": [{"domain": "rack", "key": "rack"}]},
)


def deployment(name: str, image: str = "podgang:1", available: int = 2, replicas: int = 2) -> Any:
    return made(
        ListedDeployment,
        metadata={"name": name, "namespace": "grove-system"},
        spec={"replicas": replicas, "template": {"spec": {"containers": [{"image": image}]}}},
        status={"availableReplicas": available},
    )


def healthy(**changed: Any) -> Snapshot:
    return snapshot(
        **{
            "deployments": [deployment("core-operator"), deployment("backend-kai")],
            "leases": [LEASE, CORE_LEASE],
            "bindings": [BINDING],
            "server_version": "v1.36.4",
            **changed,
        }
    )


def found(facts: ServerAnswers = FACTS, **changed: Any) -> list[Check]:
    report = doctor_report(healthy(**changed), facts)
    return [check for check in report.checks if check.outcome != "Passed"]


def test_a_healthy_installation_passes_every_check() -> None:
    report = doctor_report(healthy(), FACTS)
    assert found() == []
    assert report.verdict is Verdict.FINE
    shown = plain(doctor_view(report))
    assert "✓   topology      binding cluster: level rack (rack) is on 8 of 8 nodes" in shown
    assert "Lease grove-system/core-operator of core-1, renewed 2s ago" in shown
    assert shown.endswith("10 checks: 0 failed, 0 with a warning.\n")


def test_missing_crds_name_the_command_that_installs_them() -> None:
    kinds = {**OURS, "grove.io/v1alpha1": frozenset({"PodCliqueSet"})}
    (check,) = found(ServerAnswers(kinds, {}))
    assert check.outcome == "Failed"
    assert check.message == (
        "grove.io/v1alpha1 is served without PodClique, PodCliqueScalingGroup, SchedulerBackend,"
        " ClusterTopologyBinding"
    )
    assert check.remedy == "kubectl apply --server-side -k deploy/core"


def test_a_backend_that_is_scaled_to_zero_names_the_command_that_starts_it() -> None:
    stopped = deployment("backend-kai", available=0, replicas=0)
    checks = found(
        deployments=[deployment("core-operator"), stopped], backends=[backend(alive=False)]
    )
    assert [check.outcome for check in checks] == ["Failed", "Failed"]
    assert checks[0].remedy == "kubectl -n grove-system scale deployment backend-kai --replicas=2"
    assert "its Lease grove-system/backend-kai expired" in checks[1].message


def test_a_lease_that_is_not_renewed_fails() -> None:
    old = made(
        ListedLease,
        metadata={"name": "core-operator", "namespace": "grove-system"},
        spec={"holderIdentity": "core-1", "renewTime": "2026-01-01T11:50:00.000000Z"},
    )
    (check,) = found(leases=[LEASE, old])
    assert "expired: renewed 10m ago" in check.message
    (missing,) = found(leases=[LEASE])
    assert "there is no Lease grove-system/core-operator" in missing.message


def test_different_images_and_images_that_cannot_be_pulled_are_found() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff"}}
    pod = made(
        ListedPod,
        metadata={"name": "core-operator-x", "namespace": "grove-system"},
        spec={"nodeName": "node-0"},
        status={"containerStatuses": [{"name": "c", "state": waiting}]},
    )
    mixed = [deployment("core-operator"), deployment("backend-kai", "podgang:2")]
    failed, warned = found(deployments=mixed, pods=[pod])
    assert (failed.outcome, failed.message) == ("Failed", "ImagePullBackOff: core-operator-x")
    assert warned.message == "the controllers have different images: podgang:1, podgang:2"


def test_a_level_whose_label_no_node_has_fails_and_one_that_some_lack_warns() -> None:
    other = made(
        LooseObject,
        metadata={"name": "cluster"},
        spec={"levels": [{"domain": "block", "key": "block"}]},
    )
    (check,) = found(bindings=[other])
    assert (check.outcome, check.remedy) == ("Failed", "kubectl label node node-0 block=VALUE")
    bare = made(type(node(0)), metadata={"name": "bare"})
    (check,) = found(nodes=[node(0), bare])
    assert check.outcome == "Warning"
    assert check.message.endswith("is on 1 of 2 nodes; not on bare")


def test_a_topology_of_a_scheduler_that_differs_warns() -> None:
    drift = made(
        LooseObject,
        metadata={"name": "cluster"},
        spec=BINDING.spec,
        status={
            "conditions": [{"type": "SchedulerTopologyDrift", "status": "True", "message": "kai"}]
        },
    )
    (check,) = found(bindings=[drift])
    assert (check.outcome, check.message) == ("Warning", "binding cluster: kai")


def test_kubernetes_own_backend_needs_the_api_for_gangs() -> None:
    default = made(
        LooseObject,
        metadata={"name": "default"},
        spec={"schedulerNames": [""]},
        status={"conditions": conditions("Ready", "Available")},
    )
    checks = found(backends=[default])
    assert [check.outcome for check in checks] == ["Warning", "Unknown"]
    kinds = {**OURS, "scheduling.k8s.io/v1alpha2": frozenset({"PodGroup", "Workload"})}
    gates = {"GenericWorkload": True, "GangScheduling": False}
    (check,) = found(ServerAnswers(kinds, {}, gates), backends=[default])
    assert check.message == "feature gate GangScheduling is off"


def test_what_may_not_be_read_is_unknown_and_not_passed() -> None:
    unread = {"nodes": "forbidden", "leases": "forbidden", "deployments": "forbidden"}
    checks = found(deployments=[], unread=unread)
    assert {check.outcome for check in checks} == {"Unknown"}


def test_missing_rights_are_warnings_with_a_remedy() -> None:
    (check,) = found(ServerAnswers(OURS, {"list nodes": False}))
    assert (check.outcome, check.message) == ("Warning", "you may not list nodes")


def test_a_user_of_one_namespace_is_not_told_that_nothing_is_installed() -> None:
    forbidden = dict.fromkeys(
        ("schedulerbackends", "clustertopologybindings", "deployments", "pods", "leases"), "403"
    )
    checks = found(
        ServerAnswers(None, {}), backends=[], bindings=[], deployments=[], unread=forbidden
    )
    assert {check.outcome for check in checks} == {"Unknown"}
    areas = {"crds", "gates", "controllers", "images", "backends", "topology"}
    assert {check.area for check in checks} == areas


def test_a_right_for_the_whole_cluster_is_not_asked_for_by_a_role_of_a_namespace() -> None:
    rights = {"list schedulerbackends": False, "scale podcliquesets": False}
    cluster_wide, in_namespace = found(ServerAnswers(OURS, rights))
    assert "ClusterRoleBinding" in cluster_wide.remedy
    assert "in the namespace" in in_namespace.remedy


def test_commands_are_below_the_table_each_on_a_line_of_its_own() -> None:
    stopped = deployment("backend-kai", available=0, replicas=0)
    report = doctor_report(healthy(deployments=[deployment("core-operator"), stopped]), FACTS)
    assert plain(doctor_view(report)).splitlines()[-3:] == [
        "10 checks: 1 failed, 0 with a warning.",
        "✗ backend-kai: 0/0 replicas available",
        "  kubectl -n grove-system scale deployment backend-kai --replicas=2",
    ]
