"""Gauges that are read at scrape time and cost nothing in between.

Queues and caches know their depths, ages and sizes. This collector asks them when it is scraped.
It owns names and labels and stores no value.
"""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

LIVE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "workqueue_depth": ("Ready keys by priority.", ("name", "controller", "priority")),
    "workqueue_waiting": (
        "Keys that wait for their time: debounced changes, back-offs, requeues.",
        ("name", "controller"),
    ),
    "workqueue_unfinished_work_seconds": (
        "Sum of the time that the keys in work have taken so far.",
        ("name", "controller"),
    ),
    "workqueue_longest_running_processor_seconds": (
        "Time that the oldest key in work has taken so far.",
        ("name", "controller"),
    ),
    "watch_age_seconds": ("Time since a watch last heard from the server.", ("resource",)),
    "cache_objects": ("Objects in a cache.", ("resource",)),
    "cache_unreadable_objects": (
        "Objects that cannot be decoded; they are kept by their metadata alone.",
        ("resource",),
    ),
    "cache_synced": ("1 once a cache has seen the whole list.", ("resource",)),
    "writes_not_yet_seen": (
        "Keys that wait until the caches show our own writes.",
        ("controller",),
    ),
}
"""The metrics: help text and labels."""


class LiveGauges(Collector):
    """Values of queues and caches under the names of `LIVE`."""

    def __init__(self) -> None:
        self._reads: dict[str, dict[tuple[str, ...], Callable[[], float]]] = {}

    def add(self, metric: str, labels: Mapping[str, str], read: Callable[[], float]) -> None:
        """Export what `read` returns; a second reader with the same labels replaces the first."""
        values = tuple(labels[name] for name in LIVE[metric][1])
        self._reads.setdefault(metric, {})[values] = read

    def clear(self) -> None:
        """Drop every reader."""
        self._reads.clear()

    def describe(self) -> Iterable[Metric]:
        """Return every family, so that the registry refuses a second collector of it."""
        return [
            GaugeMetricFamily(name, help_, labels=labels) for name, (help_, labels) in LIVE.items()
        ]

    def collect(self) -> Iterable[Metric]:
        """Read all values now."""
        # Other tasks run between two families and may add a reader.
        for name, reads in list(self._reads.items()):
            help_, labels = LIVE[name]
            family = GaugeMetricFamily(name, help_, labels=labels)
            for values, read in reads.items():
                family.add_metric(values, read())
            yield family
