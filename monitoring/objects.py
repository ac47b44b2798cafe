"""What kube-state-metrics is told about single gangs, and the dashboard that shows one.

Our processes put no object's name into a label, since a cluster may have very many. Who wants a
picture of one gang lets kube-state-metrics read the objects: its configuration is data, written
here once for the file and for the checks.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from monitoring.panels import Dashboard, JsonObject, Panel, Query, Row, Variable
from shared_api import names
from shared_api.models import PodGangPhase

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """One metric made from a field."""

    name: str
    text: str
    path: Path
    kind: Literal["Gauge", "Conditions", "Phase"] = "Gauge"

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels beside those of the kind."""
        return {"Gauge": (), "Conditions": ("type", "reason"), "Phase": ("phase",)}[self.kind]

    def to_json(self) -> JsonValue:
        """The generator of the metric."""
        path: list[JsonValue] = [*self.path]
        each: JsonObject = {"type": "Gauge", "gauge": {"path": path, "nilIsZero": True}}
        if self.kind == "Conditions":
            told: JsonObject = {"type": ["type"], "reason": ["reason"]}
            gauge: JsonObject = {"path": path, "labelsFromPath": told, "valueFrom": ["status"]}
            each = {"type": "Gauge", "gauge": gauge}
        elif self.kind == "Phase":
            phases: list[JsonValue] = [phase.value for phase in PodGangPhase]
            states: JsonObject = {"labelName": "phase", "path": path, "list": phases}
            each = {"type": "StateSet", "stateSet": states}
        return {"name": self.name, "help": self.text, "each": each}


@dataclass(frozen=True, slots=True)
class Observed:
    """One kind and what is told of it."""

    group: str
    kind: str
    prefix: str
    labels: tuple[tuple[str, Path], ...]
    metrics: tuple[Told, ...]

    def to_json(self) -> JsonValue:
        """The entry of the kind."""
        return {
            "groupVersionKind": {"group": self.group, "version": names.VERSION, "kind": self.kind},
            "metricNamePrefix": self.prefix,
            "labelsFromPath": {label: [*path] for label, path in self.labels},
            # An object has no status in its first moment, which is no error.
            "errorLogV": 5,
            "metrics": [told.to_json() for told in self.metrics],
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
        Told("created", "When the gang was created.", ("metadata", "creationTimestamp")),
        Told("phase", "1 for the phase of the gang.", ("status", "phase"), "Phase"),
        Told("condition", "1 if a condition holds.", ("status", "conditions"), "Conditions"),
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
        Told("wanted", "Pods that there should be.", ("spec", "replicas")),
        Told("minimum", "Pods without which the gang does not run.", ("spec", "minAvailable")),
        Told("pods", "Pods that exist.", ("status", "replicas")),
        Told("gated", "Pods that are held by a gate.", ("status", "scheduleGatedReplicas")),
        Told("scheduled", "Pods that have a node.", ("status", "scheduledReplicas")),
        Told("ready", "Pods that are ready.", ("status", "readyReplicas")),
    ),
)
OBSERVED = (GANGS, CLIQUES)


def configuration() -> JsonObject:
    """The file that kube-state-metrics reads."""
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
    "One gang: how far it is, why it is no further, and its pods. Needs kube-state-metrics with "
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
                    about="1 is True. docs/concepts.md says what to do about each reason.",
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
                    "Ready pods, and the minimum",
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
