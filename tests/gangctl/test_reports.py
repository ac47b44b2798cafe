"""What the verbs report about a gang that waits and one that runs, word for word."""

import json

import yaml

from gangctl.rendering import OutputFormat, encoded, plain
from gangctl.reports.backends import backends_report, backends_view
from gangctl.reports.status import status_report, status_view
from gangctl.reports.tree import tree_report, tree_view
from gangctl.reports.view import Verdict, span
from gangctl.reports.why import why_report, why_view
from gangctl.snapshot import Snapshot
from tests.gangctl.scene import (
    MESSAGE,
    PASSED,
    a_gang,
    a_set,
    backend,
    conditions,
    node,
    snapshot,
)


def why(found: Snapshot, target: str = "training") -> tuple[str, Verdict]:
    report = why_report(found, "default", target)
    assert report is not None
    return plain(why_view(report)), report.verdict


def test_status_lists_waiting_sets_first_with_the_reason() -> None:
    report = status_report(snapshot())
    assert report.verdict is Verdict.WAITING
    assert plain(status_view(report, all_namespaces=False)) == (
        "NAME        READY   PODS   GPUS   BACKEND   QUEUE   WAITING   WHY\n"
        f"training    0/1     0/12   48     kai       team    4m12s     gang training-0: {MESSAGE}\n"
        "inference   1/1     3/3    24     kai       team    -         -\n"
    )


def test_status_of_all_namespaces_names_them() -> None:
    shown = plain(status_view(status_report(snapshot()), all_namespaces=True))
    assert shown.splitlines()[1].startswith("default     training")


def test_a_stalled_set_requires_manual_action() -> None:
    stalled = a_set("training", conditions("Stalled", Ready=("Conflict", "in conflict")), 0)
    assert status_report(snapshot(sets=[stalled])).verdict is Verdict.MANUAL_ACTION


def test_a_set_of_groves_own_operator_counts_by_its_replicas() -> None:
    found = snapshot(sets=[a_set("inference", [], 1), a_set("training", [], 0)])
    assert [row.verdict for row in status_report(found).sets] == [Verdict.WAITING, Verdict.FINE]


def test_gpus_are_unknown_if_pods_cannot_be_read() -> None:
    report = status_report(snapshot(pods=[], unread={"pods": "forbidden"}))
    assert {row.gpus for row in report.sets} == {"unknown"}
    shown = plain(status_view(report, all_namespaces=False)).splitlines()
    assert shown[1].split()[:4] == ["training", "0/1", "unknown", "unknown"]
    assert shown[-1] == "pods: forbidden"


def test_a_namespace_without_sets_is_named_and_others_may_have_some() -> None:
    empty = status_report(snapshot(sets=[]))
    assert plain(status_view(empty, all_namespaces=False, namespace="team")) == (
        "No PodCliqueSets found in namespace team. List those of all namespaces:"
        " kubectl gang status -A\n"
    )
    assert plain(status_view(empty, all_namespaces=True)) == "No PodCliqueSets found.\n"


def test_the_count_of_replicas_is_not_shown_twice() -> None:
    ready = conditions(Ready=("PodsNotScheduled", "0/1 replicas available; gang training-0: why"))
    report = status_report(snapshot(sets=[a_set("training", ready, 0)]))
    assert plain(status_view(report, all_namespaces=False)).endswith("   gang training-0: why\n")


def test_why_shows_stages_numbers_remedy_and_who_is_in_the_way() -> None:
    text, verdict = why(snapshot())
    assert verdict is Verdict.WAITING
    assert text == (
        "training-0  Pending 4m12s   backend kai (kai-scheduler v0.15.0)   queue team\n"
        "  ✓ selected  ✓ accepted  ✓ pods 12/12  ✓ programmed  ✓ released  ✗ scheduled 0/12\n"
        "  Needs 48 nvidia.com/gpu (12 pods x 4). 40 free on 8 nodes; 10 of 12 pods fit.\n"
        "  Would run with 2 more nodes with 4 free GPUs, or minAvailable <= 10.\n"
        "  In the way: default/inference (24 GPUs, priority 0).\n"
        "  Next: kubectl gang tree training -n default\n"
    )


def test_why_takes_a_gang_or_a_pod_too() -> None:
    assert (
        why(snapshot(), "training-0") == why(snapshot(), "training-0-worker-3") == why(snapshot())
    )
    assert why_report(snapshot(), "default", "nothing") is None
    assert why_report(snapshot(), "other", "training") is None


def test_why_of_a_running_set_is_fine() -> None:
    text, verdict = why(snapshot(), "inference")
    assert verdict is Verdict.FINE
    assert "✓ ready 3/3" in text
    assert "Next:" not in text


def test_why_shows_the_schedulers_message_if_all_pods_would_fit_by_their_requests() -> None:
    text, _ = why(snapshot(nodes=[node(index) for index in range(20)]))
    assert f"  {MESSAGE}\n" in text
    assert "12 of 12 pods fit" in text
    assert "Would run with" not in text


def test_why_shows_the_api_of_a_scheduler_that_does_not_run_in_the_cluster() -> None:
    text, _ = why(snapshot(deployments=[]))
    assert "backend kai (scheduling.run.ai/v2alpha2)" in text


def test_why_names_the_container_that_fails_and_the_logs_of_its_last_run() -> None:
    message = "0/12 pods ready; 12 in CrashLoopBackOff: container main, image app:1, pod w-0"
    stuck = conditions(*PASSED, "Scheduled", Ready=("PodsNotReady", message))
    text, verdict = why(snapshot(gangs=[a_gang("training", 12, "Starting", stuck)]))
    assert verdict is Verdict.WAITING
    assert f"  {message}\n" in text
    assert "Next: kubectl gang logs training -n default --previous" in text


def test_an_image_that_cannot_be_pulled_leads_to_the_events_of_a_pod() -> None:
    message = "0/12 pods ready; 12 in ImagePullBackOff: image app:1, container main, pod w-0"
    stuck = conditions(*PASSED, "Scheduled", Ready=("PodsNotReady", message))
    text, verdict = why(snapshot(gangs=[a_gang("training", 12, "Starting", stuck)]))
    assert verdict is Verdict.WAITING
    assert f"  {message}\n" in text
    assert "Next: kubectl -n default describe pod w-0" in text


def test_why_names_no_free_capacity_that_was_not_read() -> None:
    text, _ = why(snapshot(nodes=[], unread={"nodes": "forbidden"}))
    assert "Needs 48 nvidia.com/gpu (12 pods x 4). Free: unknown" in text
    assert "In the way" not in text


def test_why_counts_only_nodes_that_admit_the_pods() -> None:
    tainted = [{"key": "gpu", "effect": "NoSchedule"}]
    nodes = [*map(node, range(6)), node(6, unschedulable=True), node(7, taints=tainted)]
    text, _ = why(snapshot(nodes=nodes))
    assert "24 free on 6 nodes; 6 of 12 pods fit" in text


def test_why_counts_within_the_best_domain_of_a_required_level() -> None:
    stuck = conditions(*PASSED, Scheduled=("Unschedulable", MESSAGE))
    level = {"packConstraint": {"required": "rack"}}
    gang = a_gang("training", 12, "Pending", stuck, topologyConstraint=level)
    text, _ = why(snapshot(gangs=[gang]))
    assert "8 of 12 pods fit in rack=rack-1" in text


def test_a_refused_gang_requires_manual_action_and_names_the_refusal() -> None:
    refused = conditions("BackendSelected", Accepted=("Rejected", "no queue set"))
    text, verdict = why(snapshot(gangs=[a_gang("training", 12, "Pending", refused)]))
    assert verdict is Verdict.MANUAL_ACTION
    assert "✗ accepted" in text
    assert "programmed" not in text
    assert "no queue set" in text
    assert "Next: kubectl gang backends" in text


def test_why_shows_which_backends_a_gang_has_left() -> None:
    gang = a_gang("training", 12, "Pending", conditions("BackendSelected"))
    gang.status["placement"] = {
        "attempts": [
            {
                "backend": "kai",
                "from": "2026-05-01T12:00:00Z",
                "until": "2026-05-01T12:05:00Z",
                "outcome": "Capacity",
                "message": "not scheduled within 5m",
            },
            {
                "backend": "near",
                "from": "2026-05-01T12:05:00Z",
                "until": "2026-05-01T12:06:00Z",
                "message": "its base gang is with backend 'default'",
            },
            {"backend": "default", "from": "2026-05-01T12:06:00Z"},
        ]
    }
    text, _ = why(snapshot(gangs=[gang]))
    assert "Left kai at 2026-05-01T12:05:00Z (Capacity): not scheduled within 5m\n" in text
    assert "Left near at 2026-05-01T12:06:00Z: its base gang is with backend 'default'\n" in text
    assert "Left default" not in text


def test_tree_shows_every_level_down_to_the_schedulers_object() -> None:
    report = tree_report(snapshot(), "default", "inference")
    assert report is not None
    assert plain(tree_view(report)) == (
        "PodCliqueSet inference  1/1 replicas available\n"
        "└── PodGang inference-0  Running, backend kai\n"
        "    └── PodClique inference-0-worker  3/3 ready, minAvailable 3\n"
        "        ├── Pod inference-0-worker-0  Ready on node-0\n"
        "        ├── Pod inference-0-worker-1  Ready on node-1\n"
        "        └── Pod inference-0-worker-2  Ready on node-2\n"
    )
    waiting = tree_report(snapshot(), "default", "training")
    assert waiting is not None
    text = plain(tree_view(waiting))
    assert "PodGang training-0  Pending, waits to be scheduled, backend kai\n" in text
    assert "PodGroup training-0  Pending\n" in text
    assert text.count("Pod training-0-worker-") == 12


def test_tree_lists_pods_whose_gang_is_missing() -> None:
    report = tree_report(snapshot(gangs=[]), "default", "inference")
    assert report is not None
    assert plain(tree_view(report)).count("Pod inference-0-worker-") == 3


def test_backends_show_leader_capabilities_and_gangs() -> None:
    report = backends_report(snapshot())
    assert report.verdict is Verdict.FINE
    assert plain(backends_view(report)) == (
        "NAME   ALIVE   READY   LEADER   RENEWED   SCHEDULERS      API"
        "                          VERSION                 GANGS\n"
        "kai    yes     yes     pod-1    2s ago    kai-scheduler   scheduling.run.ai/v2alpha2"
        "   kai-scheduler v0.15.0   2\n"
        "kai supports Gang, Priority\n"
    )


def test_a_backend_that_is_down_is_not_ready_and_names_its_lease() -> None:
    report = backends_report(snapshot(backends=[backend(alive=False)]))
    assert report.verdict is Verdict.MANUAL_ACTION
    text = plain(backends_view(report))
    assert "kai    no      no" in text
    assert "kai: its Lease grove-system/backend-kai expired\n" in text


def test_a_cluster_without_backends_names_the_command_that_installs_one() -> None:
    report = backends_report(snapshot(backends=[]))
    assert report.verdict is Verdict.MANUAL_ACTION
    assert "kubectl apply --server-side -k deploy/backends/default" in plain(backends_view(report))


def test_json_and_yaml_have_the_same_values() -> None:
    report = why_report(snapshot(), "default", "training")
    assert report is not None
    found = json.loads(encoded(report, OutputFormat.JSON))
    assert found == yaml.safe_load(encoded(report, OutputFormat.YAML))
    assert found["gangs"][0]["blockedBy"] == "scheduled"
    assert found["gangs"][0]["shortage"]["fitting"] == 10


def test_durations_are_written_as_kubectl_writes_them() -> None:
    shown = [span(seconds) for seconds in (5, 119, 120, 252, 900, 10_800, 100_000, 200_000)]
    assert shown == ["5s", "119s", "2m", "4m12s", "15m", "3h", "27h", "2d"]


def test_a_gang_that_was_released_at_once_has_no_condition_and_counts_as_released() -> None:
    found = conditions(*PASSED[:-1], Scheduled=("Unschedulable", MESSAGE))
    text, _ = why(snapshot(gangs=[a_gang("training", 12, "Pending", found)]))
    assert "✓ released  ✗ scheduled 0/12" in text
