"""Metric names, labels and their bounds."""

from prometheus_client import generate_latest

from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.telemetry.metrics import Telemetry, bounded_code


def scrape(telemetry: Telemetry) -> str:
    return generate_latest(telemetry.registry).decode()


def test_dashboards_made_for_controller_runtime_find_their_metrics() -> None:
    telemetry = Telemetry()
    telemetry.controller("toy", 4)
    telemetry.queue("toy")
    telemetry.watch_queue("toy", Queue(str))
    telemetry.request("GET", "pods", 200, 0.1)
    telemetry.leader.labels("system/toy").set(1)
    text = scrape(telemetry)
    for line in (
        'controller_runtime_reconcile_total{controller="toy",result="success"} 0.0',
        'controller_runtime_reconcile_total{controller="toy",result="error"} 0.0',
        'controller_runtime_reconcile_total{controller="toy",result="requeue_after"} 0.0',
        'controller_runtime_reconcile_errors_total{controller="toy"} 0.0',
        'controller_runtime_terminal_reconcile_errors_total{controller="toy"} 0.0',
        'controller_runtime_reconcile_panics_total{controller="toy"} 0.0',
        'controller_runtime_reconcile_timeouts_total{controller="toy"} 0.0',
        'controller_runtime_reconcile_time_seconds_count{controller="toy"} 0.0',
        'controller_runtime_max_concurrent_reconciles{controller="toy"} 4.0',
        'controller_runtime_active_workers{controller="toy"} 0.0',
        'workqueue_adds_total{controller="toy",name="toy"} 0.0',
        'workqueue_retries_total{controller="toy",name="toy"} 0.0',
        'workqueue_queue_duration_seconds_count{controller="toy",name="toy"} 0.0',
        'workqueue_work_duration_seconds_count{controller="toy",name="toy"} 0.0',
        'workqueue_depth{controller="toy",name="toy",priority="user"} 0.0',
        'workqueue_unfinished_work_seconds{controller="toy",name="toy"} 0.0',
        'workqueue_longest_running_processor_seconds{controller="toy",name="toy"} 0.0',
        'rest_client_requests_total{code="200",method="GET",resource="pods",verb="GET"} 1.0',
        'rest_client_request_duration_seconds_count{resource="pods",verb="GET"} 1.0',
        'leader_election_master_status{name="system/toy"} 1.0',
    ):
        assert line in text


def test_a_queue_reports_itself() -> None:
    telemetry = Telemetry()
    queue: Queue[str] = Queue(lambda key: key, metrics=telemetry.queue("toy"))
    telemetry.watch_queue("toy", queue)
    queue.add("x", priority=Priority.USER)
    queue.add("y", priority=Priority.RESYNC)
    queue.add("z", priority=Priority.RESYNC)
    assert queue.take() == "x"
    text = scrape(telemetry)
    assert 'workqueue_adds_total{controller="toy",name="toy"} 3.0' in text
    assert 'workqueue_depth{controller="toy",name="toy",priority="resync"} 2.0' in text
    assert 'workqueue_depth{controller="toy",name="toy",priority="user"} 0.0' in text
    queue.retry("x")
    queue.done("x")
    assert 'workqueue_retries_total{controller="toy",name="toy"} 1.0' in scrape(telemetry)


def test_codes_and_verbs_are_bounded() -> None:
    assert [bounded_code(code) for code in (0, -1, 99, 200, 599, 600)] == [
        "<error>",
        "<error>",
        "<error>",
        "200",
        "599",
        "<error>",
    ]
    telemetry = Telemetry()
    telemetry.request("BREW", "coffee", 418, 0.1)
    assert 'method="OTHER",resource="coffee",verb="OTHER"' in scrape(telemetry)


def test_values_are_read_when_somebody_looks() -> None:
    telemetry = Telemetry()
    sizes = [7]
    telemetry.read_at_scrape("cache_objects", {"resource": "pods"}, lambda: sizes[0])
    assert 'cache_objects{resource="pods"} 7.0' in scrape(telemetry)
    sizes[0] = 8
    assert 'cache_objects{resource="pods"} 8.0' in scrape(telemetry)


def test_two_registries_share_nothing() -> None:
    first, second = Telemetry(), Telemetry()
    first.watch_restarted("pods", "Gone")
    assert 'watch_restarts_total{reason="Gone",resource="pods"} 1.0' in scrape(first)
    assert "Gone" not in scrape(second)
