"""The verbs on objects of Grove's own operator, which has no backends and reports less."""

from msgspec import structs

from gangctl.rendering import plain
from gangctl.reports.backends import backends_report, backends_view
from gangctl.reports.status import status_report, status_view
from gangctl.reports.tree import tree_report, tree_view
from gangctl.reports.view import Verdict
from gangctl.reports.why import why_report, why_view
from shared_api.kube.pods import ContainerState, ContainerStatus, ContainerWaiting, PodStatus
from tests.gangctl.grove import grove_snapshot

SCHEDULERS_MESSAGE = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."


def test_status_derives_from_pods_why_a_set_of_grove_waits() -> None:
    report = status_report(grove_snapshot())
    assert report.verdict is Verdict.WAITING
    shown = plain(status_view(report, all_namespaces=False)).splitlines()[1]
    assert shown == (
        "w      0/1     1/2    16     kai-scheduler   test    10m"
        f"       gang w-0: 1/2 pods scheduled: {SCHEDULERS_MESSAGE}"
    )


def test_why_shows_the_stages_that_grove_has_with_numbers() -> None:
    report = why_report(grove_snapshot(), "default", "w")
    assert report is not None
    assert report.verdict is Verdict.WAITING
    assert plain(why_view(report)) == (
        "w-0  Pending 10m   scheduler kai-scheduler   queue test\n"
        "  ✓ pods 2/2  ✓ released  ✗ scheduled 1/2\n"
        "  Needs 8 nvidia.com/gpu (1 pod x 8). 0 free on 1 node; 0 of 1 pods fit.\n"
        "  Would run with 1 more node with 8 free GPUs.\n"
        "  In the way: default/w (8 GPUs, priority 0).\n"
        "  Next: kubectl gang tree w -n default\n"
    )


def test_a_gang_of_grove_whose_pods_are_ready_runs_though_its_phase_is_pending() -> None:
    found = grove_snapshot()
    ready = [pod for pod in found.pods if pod.is_ready]
    gang = found.gangs[0]
    gang.spec["podgroups"][0]["minReplicas"] = 1
    report = why_report(grove_snapshot(pods=ready, gangs=[gang]), "default", "w-0")
    assert report is not None
    assert report.verdict is Verdict.FINE
    assert report.gangs[0].phase == "Running"


def test_why_names_the_container_of_a_gang_of_grove_that_fails() -> None:
    found = grove_snapshot()
    pulls = ContainerState(waiting=ContainerWaiting("ImagePullBackOff"))
    status = PodStatus(
        "Pending", container_statuses=(ContainerStatus("main", state=pulls, image="app:1"),)
    )
    failing = [
        structs.replace(pod, spec=structs.replace(pod.spec, node_name="n"), status=status)
        for pod in found.pods
    ]
    report = why_report(grove_snapshot(pods=failing), "default", "w-0")
    assert report is not None
    named = f"2 in ImagePullBackOff: image app:1, container main, pod {failing[0].metadata.name}"
    assert report.gangs[0].message == named


def test_tree_of_a_set_of_grove_has_gang_clique_and_pods() -> None:
    report = tree_report(grove_snapshot(), "default", "w")
    assert report is not None
    shown = plain(tree_view(report))
    assert "PodGang w-0  Pending, waits to be scheduled\n" in shown
    assert "Pod w-0-a-7k2xq  Ready on node-0\n" in shown


def test_without_records_backends_names_groves_schedulers() -> None:
    report = backends_report(grove_snapshot())
    assert report.verdict is Verdict.FINE
    assert plain(backends_view(report)) == (
        "There are no SchedulerBackends: Grove's own operator manages the gangs of this cluster."
        " Schedulers: kai-scheduler (1 gang).\n"
    )
