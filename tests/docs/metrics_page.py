"""The reference page of the metrics, generated from what the programs declare.

`python -m tests.docs.metrics_page` writes it, with `--check` it fails if it is stale. It
stands beside the tests because no part of the product may import both kinds of programs.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from backend_controllers.generic.metrics import BackendMetrics
from core_operator.metrics import CoreMetrics
from shared_api.runtime.telemetry.gauges import LIVE
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.docs.pages import write_or_check

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"

_HEAD = """\
# Metrics

After reading this page you know the name, the labels and the meaning of every metric. Every process serves its metrics at `/metrics` on port 8080, or on port 8443 if they are
[secured](../monitoring.md#secure-the-metrics). Names and labels of the runtime are
controller-runtime's and client-go's where those exist, so that dashboards made for them work. No
label ever holds the name of an object. This page is generated from what the programs declare.
"""

_PARTS = (
    ("Of every process", "Queues, watches, requests and writes."),
    ("Of the core operator", "In addition to those of every process."),
    ("Of a backend controller", "In addition to those of every process. `backend` is its name."),
)


class Declared(CollectorRegistry):
    """A registry that remembers what was registered, in order."""

    def __init__(self) -> None:
        super().__init__(auto_describe=True)
        self.collectors: list[MetricWrapperBase] = []

    def register(self, collector: Collector) -> None:
        """Remember a metric."""
        super().register(collector)
        if isinstance(collector, MetricWrapperBase):
            self.collectors.append(collector)


def render() -> str:
    """The page."""
    runtime, core, backend = Declared(), Declared(), Declared()
    Telemetry(runtime)
    CoreMetrics(Telemetry(core))
    BackendMetrics(Telemetry(backend), "name")
    known = len(runtime.collectors)
    tables = (
        sorted([*map(_row, runtime.collectors), *_live()]),
        sorted(map(_row, core.collectors[known:])),
        sorted(map(_row, backend.collectors[known:])),
    )
    parts = [_HEAD]
    for (title, text), rows in zip(_PARTS, tables, strict=True):
        head = "| name | type | labels | meaning |\n|---|---|---|---|"
        parts.append("\n".join((f"## {title}\n\n{text}\n", head, *rows, "")))
    return "\n".join(parts)


def _row(collector: MetricWrapperBase) -> str:
    (family,) = collector.describe()
    suffix = "_total" if family.type == "counter" else ""
    labels = tuple(collector._labelnames)
    return _line(f"{family.name}{suffix}", family.type, labels, family.documentation)


def _live() -> Iterator[str]:
    for name, (text, labels) in LIVE.items():
        yield _line(name, "gauge", labels, text)


def _line(name: str, kind: str, labels: tuple[str, ...], text: str) -> str:
    shown = ", ".join(f"`{label}`" for label in labels)
    return f"| `{name}` | {kind} | {shown} | {text} |"


def main(arguments: list[str]) -> int:
    """Write or check the page; return the exit code."""
    return write_or_check(PAGE, render(), "tests.docs.metrics_page", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
