"""Every series that may be named: declared by our programs, recorded by our rules, or made from
objects by kube-state-metrics, each with its labels.
"""

from collections.abc import Iterator

from prometheus_client.metrics import MetricWrapperBase

from backend_controllers.generic.metrics import BackendMetrics
from core_operator.metrics import CoreMetrics
from monitoring.catalogue import GROUPS
from monitoring.objects import OBSERVED
from monitoring.rules import Recording
from shared_api.runtime.telemetry.gauges import LIVE
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.docs.metrics_page import Declared
from tests.monitoring.promql import uses

SCRAPED = frozenset({"job", "instance"})
"""Labels that Prometheus itself adds."""
_SAMPLES = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_count", "_sum"),
}


def of_programs() -> dict[str, frozenset[str]]:
    """Sample names of our processes to their labels."""
    core, backend = Declared(), Declared()
    CoreMetrics(Telemetry(core))
    BackendMetrics(Telemetry(backend), "name")
    found = {name: frozenset(labels) for name, (_, labels) in LIVE.items()}
    for collector in (*core.collectors, *backend.collectors):
        found.update(_samples(collector))
    return {name: labels | SCRAPED for name, labels in found.items()}


def of_objects() -> dict[str, frozenset[str]]:
    """The same for what kube-state-metrics is told to export."""
    return {
        f"{kind.prefix}_{told.name}": frozenset({*dict(kind.labels), *told.labels})
        for kind in OBSERVED
        for told in kind.metrics
    }


def of_rules() -> dict[str, frozenset[str]]:
    """The same for what is recorded; a rule keeps what it groups by."""
    return {
        rule.name: frozenset(uses(rule.expression).grouping) - {"le"}
        for group in GROUPS
        for rule in group.rules
        if isinstance(rule, Recording)
    }


def everything() -> dict[str, frozenset[str]]:
    return {**of_programs(), **of_objects(), **of_rules()}


def _samples(collector: MetricWrapperBase) -> Iterator[tuple[str, frozenset[str]]]:
    (family,) = collector.describe()
    for suffix in _SAMPLES[family.type]:
        bounds = {"le"} if suffix == "_bucket" else set()
        yield f"{family.name}{suffix}", frozenset({*collector._labelnames, *bounds})
