"""Gauges that are read when somebody looks, and cost nothing in between.

Depths, ages and sizes are kept by their owners anyway. This collector asks for them at
scrape time; it owns their names and labels, and stores no value.
"""

from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

LIVE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "workqueue_depth": ("Ready keys by priority.", ("name", "controller", "priority")),
    "workqueue_waiting": (
        "Keys that wait for their time: news that is gathered, back-offs, later looks.",
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
"""Metrics that are read at scrape time: what they say, and their labels."""


class LiveGauges(Collector):
    """Values of others, under the names of `LIVE`."""

    def __init__(self) -> None:
        self._reads: dict[str, dict[tuple[str, ...], Callable[[], float]]] = {}

    def add(self, metric: str, labels: Mapping[str, str], read: Callable[[], float]) -> None:
        """Export what `read` returns; the same labels again replace the reader."""
        values = tuple(labels[name] for name in LIVE[metric][1])
        self._reads.setdefault(metric, {})[values] = read

    def clear(self) -> None:
        """Forget every reader."""
        self._reads.clear()

    def describe(self) -> Iterable[Metric]:
        """Name every family, so that the registry can refuse a second owner."""
        return [
            GaugeMetricFamily(name, help_, labels=labels) for name, (help_, labels) in LIVE.items()
        ]

    def collect(self) -> Iterable[Metric]:
        """Ask the owners now."""
        # Other tasks run between two families, and may add a reader.
        for name, reads in list(self._reads.items()):
            help_, labels = LIVE[name]
            family = GaugeMetricFamily(name, help_, labels=labels)
            for values, read in reads.items():
                family.add_metric(values, read())
            yield family
