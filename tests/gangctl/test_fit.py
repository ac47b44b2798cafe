"""What `fit` predicts for a set before it is applied."""

from typing import Any

from gangctl.rendering import plain
from gangctl.reports.fit import Admission, FitReport, fit_report, fit_view
from gangctl.reports.view import Verdict
from gangctl.snapshot import Snapshot
from shared_api.kube.codec import LooseObject
from tests.gangctl.scene import GPU, conditions, made, snapshot

BACKEND = made(
    LooseObject,
    metadata={"name": "default"},
    spec={
        "schedulerNames": ["", "default-scheduler"],
        "capabilities": ["Gang"],
        "preparation": {"mode": "Static"},
        "schedulingGate": "grove.io/podgang",
        "lease": {"namespace": "grove-system", "name": "backend-default"},
    },
    status={"conditions": conditions("Available", "Ready")},
)
BINDING = made(
    LooseObject,
    metadata={"name": "cluster"},
    spec={"levels": [{"domain": "rack", "key": "rack"}]},
)


def clique(name: str, replicas: int, gpus: int, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "i", "resources": {"limits": {GPU: str(gpus)}}}
    spec = {"roleName": name, "replicas": replicas, "podSpec": {"containers": [container]}}
    return {"name": name, "spec": {**spec, **more}}


def a_set(*cliques: dict[str, Any], replicas: int = 1, **template: Any) -> dict[str, Any]:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"replicas": replicas, "template": {"cliques": list(cliques), **template}},
    }


def cluster(**changed: Any) -> Snapshot:
    """Eight nodes with eight GPUs; three nodes are used by inference."""
    return snapshot(**{"backends": [BACKEND], "bindings": [BINDING], **changed})


def fit(manifest: dict[str, Any], found: Snapshot | None = None) -> FitReport:
    return fit_report(found or cluster(), [Admission(manifest)], "default")


def test_a_set_that_fits_is_fine_and_names_the_nodes() -> None:
    report = fit(a_set(clique("a", 2, 8)))
    assert report.verdict is Verdict.FINE
    assert plain(fit_view(report)) == (
        "default/w\n"
        "  ✓ admission: accepted by the API server\n"
        "  ✓ backend 'default' by default\n"
        "  ✓ w-0: 2 pods fit: node-3 (1), node-4 (1)\n"
    )


def test_gangs_are_packed_one_after_the_other() -> None:
    report = fit(a_set(clique("a", 2, 8), replicas=3))
    assert [gang.fits for gang in report.sets[0].gangs] == [True, True, False]
    assert report.verdict is Verdict.WAITING
    assert "1 of 2 pods fit" in plain(fit_view(report))


def test_a_set_that_fits_in_no_empty_cluster_requires_manual_action() -> None:
    report = fit(a_set(clique("a", 9, 8)))
    assert report.verdict is Verdict.MANUAL_ACTION
    assert "It does not fit even if no other pod runs." in plain(fit_view(report))


def test_only_the_minimum_of_a_gang_has_to_fit() -> None:
    assert fit(a_set(clique("a", 9, 8, minAvailable=5))).verdict is Verdict.FINE


def test_a_refusal_of_the_server_is_the_whole_report() -> None:
    manifest = a_set(clique("a", 1, 1))
    report = fit_report(cluster(), [Admission(manifest, refusal="spec.replicas: too many")], "x")
    assert report.verdict is Verdict.MANUAL_ACTION
    assert plain(fit_view(report)) == "default/w\n  ✗ admission: spec.replicas: too many\n"


def test_a_capability_that_the_backend_lacks_is_named() -> None:
    level = {"topologyName": "cluster", "pack": {"required": "rack"}}
    report = fit(a_set(clique("a", 1, 1), topologyConstraint=level))
    assert report.verdict is Verdict.MANUAL_ACTION
    assert "✗ backend 'default' does not support: TopologyRequiredGang" in plain(fit_view(report))


def test_a_required_level_is_counted_within_one_domain() -> None:
    able = made(
        LooseObject,
        metadata=BACKEND.metadata,
        spec={**BACKEND.spec, "capabilities": ["Gang", "TopologyRequiredGang"]},
        status=BACKEND.status,
    )
    level = {"topologyName": "cluster", "pack": {"required": "rack"}}
    found = cluster(backends=[able])
    fits = fit(a_set(clique("a", 4, 8), topologyConstraint=level), found)
    assert "4 pods fit in rack=rack-1" in plain(fit_view(fits))
    too_many = fit(a_set(clique("a", 5, 8), topologyConstraint=level), found)
    assert too_many.verdict is Verdict.MANUAL_ACTION


def test_a_clique_is_kept_in_its_own_domain_inside_the_gang() -> None:
    able = made(
        LooseObject,
        metadata=BACKEND.metadata,
        spec={**BACKEND.spec, "capabilities": ["Gang", "TopologyRequiredGroup"]},
        status=BACKEND.status,
    )
    level = {"topologyName": "cluster", "pack": {"required": "rack"}}
    wide = {**clique("a", 5, 8), "topologyConstraint": level}
    report = fit(a_set(wide), cluster(backends=[able]))
    # Five nodes are free, but only four of them in one rack.
    assert report.sets[0].gangs[0].fits is False
    assert fit(a_set(clique("a", 5, 8))).sets[0].gangs[0].fits is True


def test_a_missing_binding_requires_manual_action() -> None:
    level = {"topologyName": "other", "pack": {"preferred": "rack"}}
    report = fit(a_set(clique("a", 1, 1), topologyConstraint=level))
    assert "✗ topology: ClusterTopologyBinding 'other' does not exist" in plain(fit_view(report))


def test_a_backend_that_is_down_makes_the_set_wait() -> None:
    down = made(
        LooseObject,
        metadata=BACKEND.metadata,
        spec=BACKEND.spec,
        status={"conditions": conditions(Available=("BackendUnavailable", "its Lease expired"))},
    )
    report = fit(a_set(clique("a", 1, 1)), cluster(backends=[down]))
    assert report.verdict is Verdict.WAITING
    assert "✗ backend 'default' is down: its Lease expired" in plain(fit_view(report))


def test_without_nodes_the_fit_is_unknown_and_nothing_is_invented() -> None:
    report = fit(a_set(clique("a", 1, 1)), cluster(nodes=[], unread={"nodes": "forbidden"}))
    assert report.sets[0].gangs[0].fits is None
    assert "Free: unknown" in plain(fit_view(report))


def test_pods_that_the_set_has_already_count_as_free() -> None:
    manifest = a_set(clique("worker", 3, 8), replicas=2)
    manifest["metadata"]["name"] = "inference"
    assert fit(manifest).verdict is Verdict.FINE


def test_backends_and_bindings_that_may_not_be_read_are_unknown_and_not_missing() -> None:
    unread = {"schedulerbackends": "403", "clustertopologybindings": "403"}
    level = {"topologyName": "cluster", "pack": {"required": "rack"}}
    manifest = a_set(clique("a", 1, 1), topologyConstraint=level)
    report = fit(manifest, cluster(backends=[], bindings=[], unread=unread))
    assert report.verdict is Verdict.WAITING
    assert report.sets[0].backend_usable is None
    shown = plain(fit_view(report))
    assert "· backend: unknown, because you may not list SchedulerBackends" in shown
    assert "· topology: unknown, because you may not list ClusterTopologyBindings" in shown
    # A cluster that does not serve the kind has no backend for certain.
    absent = cluster(backends=[], unread=unread, unserved=frozenset(unread))
    assert fit(manifest, absent).verdict is Verdict.MANUAL_ACTION


def test_a_placement_policy_chooses_the_backend_so_it_is_not_predicted() -> None:
    manifest = a_set(clique("a", 9, 8))
    manifest["metadata"]["annotations"] = {"grove.io/placement-policy": "cheap"}
    report = fit(manifest)
    # What does not fit in this cluster may fit elsewhere.
    assert report.verdict is Verdict.WAITING
    assert "· backend: unknown, because PlacementPolicy cheap chooses it" in plain(fit_view(report))
    manifest["metadata"]["annotations"]["grove.io/scheduler-backend"] = "default"
    assert fit(manifest).sets[0].backend == "default"
