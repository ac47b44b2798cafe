"""What a CRD has beside its schema: names, scope, scale and the columns of `kubectl get`.

State and reason come first, then Grove's columns with Grove's headings, and the age last. Rarely
needed columns show after these with `-o wide`.
"""

from dataclasses import dataclass
from typing import Literal

from crdgen.structural import structural_schema
from shared_api import names
from shared_api.models import (
    BackendInventory,
    ClusterTopologyBinding,
    KubeObject,
    PlacementPolicy,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodGang,
    RemoteGang,
    SchedulerBackend,
)
from shared_api.models.schema import JsonObject


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`."""

    name: str
    path: str
    type: Literal["string", "integer", "number", "date"] = "string"
    wide: bool = False

    def to_json(self) -> JsonObject:
        """Return the entry of additionalPrinterColumns."""
        column: JsonObject = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return column | {"priority": 1} if self.wide else column


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One CRD."""

    model: type[KubeObject]
    plural: str
    short_names: tuple[str, ...]
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    columns: tuple[Column, ...]
    # Path of the label selector in status. With it, the kind has the scale subresource.
    scale_selector: str | None = None

    @property
    def group(self) -> str:
        """API group."""
        return self.model.API_VERSION.split("/")[0]

    @property
    def name(self) -> str:
        """Name of the CRD object."""
        return f"{self.plural}.{self.group}"

    def definition(self) -> JsonObject:
        """Return the CustomResourceDefinition."""
        subresources: JsonObject = {"status": {}}
        if self.scale_selector is not None:
            subresources["scale"] = {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": self.scale_selector,
            }
        version: JsonObject = {
            "name": names.VERSION,
            "served": True,
            "storage": True,
            "subresources": subresources,
            "additionalPrinterColumns": [column.to_json() for column in self.columns],
            "schema": {"openAPIV3Schema": structural_schema(self.model)},
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "names": {
                    "kind": self.model.KIND,
                    "listKind": f"{self.model.KIND}List",
                    "plural": self.plural,
                    "singular": self.model.KIND.lower(),
                    "shortNames": list(self.short_names),
                    "categories": ["grove"],
                },
                "scope": self.scope,
                "versions": [version],
            },
        }


AGE = Column("Age", ".metadata.creationTimestamp", "date")


def _condition(type_: str, field: str) -> str:
    return f'.status.conditions[?(@.type=="{type_}")].{field}'


READY = Column("Ready", _condition(names.CONDITION_READY, "status"))
REASON = Column("Reason", _condition(names.CONDITION_READY, "reason"))


def _message(type_: str = names.CONDITION_READY) -> Column:
    return Column("Message", _condition(type_, "message"), wide=True)


def _completed(*, wide: bool) -> Column:
    """Blank while jobs run and for what serves, False if they failed."""
    return Column("Completed", _condition(names.CONDITION_COMPLETED, "status"), wide=wide)


_BREACHED = Column(
    "MinBreached", _condition(names.CONDITION_MIN_AVAILABLE_BREACHED, "status"), wide=True
)
_BACKEND = "\\.".join(names.LABEL_SCHEDULER_BACKEND.split("."))


def _count(name: str, path: str, *, wide: bool = False) -> Column:
    return Column(name, path, "integer", wide)


_PROGRESS = ".status.updateProgress."
# A union: the API server prints the first that exists.
_BLOCKER = ".status['coreBlocker','backendBlocker']."

KINDS = (
    Kind(
        model=PodCliqueSet,
        plural="podcliquesets",
        short_names=("pcs",),
        scale_selector=".status.hpaPodSelector",
        columns=(
            READY,
            REASON,
            _count("Replicas", ".spec.replicas"),
            _count("Available", ".status.availableReplicas"),
            _count("Updated", ".status.updatedReplicas"),
            _completed(wide=False),
            AGE,
            _count("PCLQs-Updated", _PROGRESS + "updatedPodCliquesCount", wide=True),
            _count("PCLQs-Total", _PROGRESS + "totalPodCliquesCount", wide=True),
            _count("PCSGs-Updated", _PROGRESS + "updatedPodCliqueScalingGroupsCount", wide=True),
            _count("PCSGs-Total", _PROGRESS + "totalPodCliqueScalingGroupsCount", wide=True),
            _message(),
        ),
    ),
    Kind(
        model=PodClique,
        plural="podcliques",
        short_names=("pclq",),
        scale_selector=".status.hpaPodSelector",
        columns=(
            REASON,
            _count("MinAvail", ".spec.minAvailable"),
            _count("Replicas", ".spec.replicas"),
            _count("Ready", ".status.readyReplicas"),
            _count("Scheduled", ".status.scheduledReplicas"),
            _count("Updated", ".status.updatedReplicas"),
            AGE,
            _completed(wide=True),
            _count("Gated", ".status.scheduleGatedReplicas", wide=True),
            _BREACHED,
            _message(),
        ),
    ),
    Kind(
        model=PodCliqueScalingGroup,
        plural="podcliquescalinggroups",
        short_names=("pcsg",),
        scale_selector=".status.selector",
        columns=(
            REASON,
            _count("MinAvail", ".spec.minAvailable"),
            _count("Replicas", ".spec.replicas"),
            _count("Available", ".status.availableReplicas"),
            _count("Scheduled", ".status.scheduledReplicas"),
            _count("Updated", ".status.updatedReplicas"),
            AGE,
            _completed(wide=True),
            _count("PCLQs-Updated", _PROGRESS + "updatedPodCliquesCount", wide=True),
            _count("PCLQs-Total", _PROGRESS + "totalPodCliquesCount", wide=True),
            _BREACHED,
            _message(),
        ),
    ),
    Kind(
        model=ClusterTopologyBinding,
        plural="clustertopologybindings",
        short_names=("ct",),
        scope="Cluster",
        columns=(
            Column("Drift", _condition(names.CONDITION_SCHEDULER_TOPOLOGY_DRIFT, "status")),
            Column("Reason", _condition(names.CONDITION_SCHEDULER_TOPOLOGY_DRIFT, "reason")),
            Column("Domains", ".spec.levels[*].domain"),
            AGE,
            _message(names.CONDITION_SCHEDULER_TOPOLOGY_DRIFT),
        ),
    ),
    Kind(
        model=SchedulerBackend,
        plural="schedulerbackends",
        short_names=("sbe",),
        scope="Cluster",
        columns=(
            # Core's condition: a backend that is down cannot report it.
            Column("Ready", _condition(names.CONDITION_AVAILABLE, "status")),
            Column("Reason", _condition(names.CONDITION_AVAILABLE, "reason")),
            Column("Schedulers", ".status.schedulers"),
            _count("BindTimeout", ".spec.release.bindTimeoutSeconds"),
            AGE,
            Column("Dialect", ".status.dialect", wide=True),
            Column("Gate", ".spec.schedulingGate", wide=True),
            Column("Preparation", ".spec.preparation.mode", wide=True),
            Column("Heartbeat", ".status.lastHeartbeat", "date", wide=True),
            _message(names.CONDITION_AVAILABLE),
        ),
    ),
    Kind(
        model=BackendInventory,
        plural="backendinventories",
        short_names=("binv",),
        scope="Cluster",
        columns=(
            Column("Observed", ".spec.observedAt", "date"),
            Column("Machines", ".spec.rows[*].total"),
            AGE,
            _count("Omitted", ".spec.omitted", wide=True),
        ),
    ),
    Kind(
        model=PlacementPolicy,
        plural="placementpolicies",
        short_names=("pp",),
        columns=(
            Column("Objective", ".spec.objective"),
            Column("MaxHourlyCost", ".spec.maxHourlyCost"),
            Column("AdmissionTimeout", ".spec.admissionTimeout"),
            AGE,
            Column("Regions", ".spec.location.regions", wide=True),
        ),
    ),
    Kind(
        model=PodGang,
        plural="podgangs",
        short_names=("pg",),
        columns=(
            Column("Phase", ".status.phase"),
            Column("Reason", _BLOCKER + "reason"),
            Column("Backend", f".metadata.labels.{_BACKEND}"),
            AGE,
            Column("BindFailures", ".status.bindAttempt.failures", "integer", wide=True),
            Column("RetryAt", ".status.bindAttempt.retryAt", wide=True),
            Column("Initialized", _condition(names.CONDITION_INITIALIZED, "status"), wide=True),
            Column("Programmed", _condition(names.CONDITION_PROGRAMMED, "status"), wide=True),
            Column("Score", ".status.placementScore", "number", wide=True),
            Column("Message", _BLOCKER + "message", wide=True),
        ),
    ),
    Kind(
        model=RemoteGang,
        plural="remotegangs",
        short_names=("rg",),
        columns=(
            Column("Phase", ".status.phase"),
            Column("Reason", ".status.reason"),
            Column("Backend", ".spec.backend"),
            _count("Attempt", ".status.attempt"),
            Column("Hosts", ".status.members[*].host", wide=True),
            Column("Message", ".status.message", wide=True),
            AGE,
        ),
    ),
)
