"""The configuration of kube-state-metrics, and the dashboard of one gang that needs it.

No metric of ours has an object's name in a label, because a cluster may have very many objects.
kube-state-metrics can export single gangs and cliques with this configuration.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from monitoring.panels import Dashboard, JsonObject, Panel, Query, Row, Variable
from shared_api import names
from shared_api.models import PodGangPhase

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FieldMetric:
    """A metric with the value of a field."""

    name: str
    text: str
    path: Path
    kind: Literal["Gauge", "Conditions", "Phase"] = "Gauge"

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels in addition to those of the kind."""
        return {"Gauge": (), "Conditions": ("type", "reason"), "Phase": ("phase",)}[self.kind]

    def to_json(self) -> JsonValue:
        """Return the entry of the metric."""
        path: list[JsonValue] = [*self.path]
        each: JsonObject = {"type": "Gauge", "gauge": {"path": path, "nilIsZero": True}}
        if self.kind == "Conditions":
            labels: JsonObject = {"type": ["type"], "reason": ["reason"]}
            gauge: JsonObject = {"path": path, "labelsFromPath": labels, "valueFrom": ["status"]}
            each = {"type": "Gauge", "gauge": gauge}
        elif self.kind == "Phase":
            phases: list[JsonValue] = [phase.value for phase in PodGangPhase]
            states: JsonObject = {"labelName": "phase", "path": path, "list": phases}
            each = {"type": "StateSet", "stateSet": states}
        return {"name": self.name, "help": self.text, "each": each}


@dataclass(frozen=True, slots=True)
class Observed:
    """A kind and its metrics."""

    group: str
    kind: str
    prefix: str
    labels: tuple[tuple[str, Path], ...]
    metrics: tuple[FieldMetric, ...]

    def to_json(self) -> JsonValue:
        """Return the entry of the kind."""
        return {
            "groupVersionKind": {"group": self.group, "version": names.VERSION, "kind": self.kind},
            "metricNamePrefix": self.prefix,
            "labelsFromPath": {label: [*path] for label, path in self.labels},
            # A new object has no status yet. That is no error.
            "errorLogV": 5,
            "metrics": [metric.to_json() for metric in self.metrics],
        }


_NAMESPACE = ("namespace", ("metadata", "namespace"))

GANGS = Observed(
    names.SCHEDULER_GROUP,
    "PodGang",
    "grove_podgang",
    (
        _NAMESPACE,
        ("gang", ("metadata", "name")),
        ("backend", ("metadata", "labels", names.LABEL_SCHEDULER_BACKEND)),
    ),
    (
        FieldMetric("created", "When the gang was created.", ("metadata", "creationTimestamp")),
        FieldMetric("phase", "1 for the phase of the gang.", ("status", "phase"), "Phase"),
        FieldMetric(
            "condition", "1 if the condition is True.", ("status", "conditions"), "Conditions"
        ),
    ),
)
CLIQUES = Observed(
    names.GROVE_GROUP,
    "PodClique",
    "grove_podclique",
    (
        _NAMESPACE,
        ("clique", ("metadata", "name")),
        ("gang", ("metadata", "labels", names.LABEL_PODGANG)),
    ),
    (
        FieldMetric("wanted", "Desired pods.", ("spec", "replicas")),
        FieldMetric("minimum", "Pods that the gang needs.", ("spec", "minAvailable")),
        FieldMetric("pods", "Pods that exist.", ("status", "replicas")),
        FieldMetric(
            "gated", "Pods that have a scheduling gate.", ("status", "scheduleGatedReplicas")
        ),
        FieldMetric("scheduled", "Pods that are bound to a node.", ("status", "scheduledReplicas")),
        FieldMetric("ready", "Pods that are ready.", ("status", "readyReplicas")),
    ),
)
OBSERVED = (GANGS, CLIQUES)


def configuration() -> JsonObject:
    """Return the configuration file."""
    resources = [kind.to_json() for kind in OBSERVED]
    return {"kind": "CustomResourceStateMetrics", "spec": {"resources": resources}}


def _of_gang(metric: str, *matchers: str) -> str:
    chosen = ('namespace="$namespace"', 'gang="$gang"', *matchers)
    return f"{metric}{{{','.join(chosen)}}}"


def _per_clique(metric: str) -> str:
    return f"sum by (clique) ({_of_gang(metric)})"


_STEPS = ("wanted", "minimum", "pods", "gated", "scheduled", "ready")

GANG = Dashboard(
    "gang",
    "one gang",
    "One gang: its phase, its conditions and its pods. Needs kube-state-metrics with "
    "deploy/monitoring/kube-state-metrics.",
    (
        Row(
            "Now",
            (
                Panel(
                    "Phase",
                    (Query(_of_gang("grove_podgang_phase") + " == 1", "{{phase}}"),),
                    kind="stat",
                    width=8,
                ),
                Panel(
                    "Backend",
                    (
                        Query(
                            f"count by (backend) ({_of_gang('grove_podgang_created')})",
                            "{{backend}}",
                        ),
                    ),
                    kind="stat",
                    width=8,
                ),
                Panel(
                    "Age",
                    (Query(f"time() - max({_of_gang('grove_podgang_created')})", "age"),),
                    "s",
                    "stat",
                    8,
                ),
                Panel(
                    "Conditions",
                    (
                        Query(
                            f"max by (type, reason) ({_of_gang('grove_podgang_condition')})",
                            "{{type}} {{reason}}",
                        ),
                    ),
                    kind="table",
                    about="1 is True. See docs/concepts.md for what to do about each reason.",
                ),
                Panel(
                    "Pods by clique",
                    tuple(Query(_per_clique(f"grove_podclique_{step}"), step) for step in _STEPS),
                    kind="table",
                ),
            ),
        ),
        Row(
            "Over time",
            (
                Panel(
                    "Conditions",
                    (Query(f"max by (type) ({_of_gang('grove_podgang_condition')})", "{{type}}"),),
                    kind="state-timeline",
                ),
                Panel(
                    "Ready pods and minimum",
                    (
                        Query(_per_clique("grove_podclique_ready"), "{{clique}} ready"),
                        Query(_per_clique("grove_podclique_minimum"), "{{clique}} minimum"),
                    ),
                ),
            ),
        ),
    ),
    (
        Variable("namespace", "label_values(grove_podgang_created, namespace)"),
        Variable("gang", 'label_values(grove_podgang_created{namespace="$namespace"}, gang)'),
    ),
)
