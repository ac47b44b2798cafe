"""Objects that are stored, and that nobody should have to expect."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from shared_api import names
from shared_api.kube.resources import Resource
from shared_api.models import KubeModel
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.reflector import Source
from tests.contract.schemas import version
from tests.fuzz.schemas import of_projection, of_schema, some_of
from tests.fuzz.shelf import Object, fields_of
from tests.fuzz.values import ANY_TEXT

_OURS = frozenset((names.GROVE_GROUP, names.SCHEDULER_GROUP))
_BUILT_IN = frozenset(("", "apps", "coordination.k8s.io", "autoscaling", "resource.k8s.io"))
LABEL_VALUES = st.from_regex(
    r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?", fullmatch=True
) | st.sampled_from(
    ["-1", "0", "00", "99999999999999999999", "1.5", "poison-0", "poison-a", "good-0", "kai", "x"]
).filter(lambda value: value[0] != "-")
LABEL_KEYS = [
    *sorted(v for k, v in vars(names).items() if k.startswith("LABEL_")),
    "kai.scheduler/queue",
    "kai.scheduler/node-pool",
    "scheduling.volcano.sh/queue-name",
    "yunikorn.apache.org/queue",
    "grove.io/placeholder-of",
    "quota.scheduling.koordinator.sh/name",
]
ANNOTATION_KEYS = [
    *sorted(v for k, v in vars(names).items() if k.startswith("ANNOTATION_")),
    *LABEL_KEYS,
    "kai.scheduler/topology",
    "kai.scheduler/preemptibility",
    "kai.scheduler/preemption-delay",
    "kai.scheduler/staleness-grace-period",
    "kai.scheduler/last-start-timestamp",
    "num-evicted-pods",
    "evictor-action-type",
    "evictor-pod-group-name",
    "evictor-pod-group-namespace",
    "gang.scheduling.koordinator.sh/mode",
    "gang.scheduling.koordinator.sh/match-policy",
    "gang.scheduling.koordinator.sh/waiting-time",
    "gang.scheduling.koordinator.sh/groups",
    "yunikorn.apache.org/task-groups",
    "yunikorn.apache.org/task-group-name",
    "scheduling.k8s.io/group-name",
    "kubectl.kubernetes.io/last-applied-configuration",
]
_OWNER = st.fixed_dictionaries(
    {
        "apiVersion": st.just("grove.io/v1alpha1") | ANY_TEXT,
        "kind": st.sampled_from(
            ["PodCliqueSet", "PodClique", "PodCliqueScalingGroup", "PodGang", "ConfigMap"]
        ),
        "name": st.sampled_from(["poison-0", "poison", "poison-0-a"]) | ANY_TEXT,
        "uid": st.sampled_from([f"uid-podcliquesets-default-poison-{n}" for n in range(3)])
        | ANY_TEXT,
    },
    optional={"controller": st.booleans(), "blockOwnerDeletion": st.booleans()},
)


@dataclass(frozen=True)
class Poison:
    """An object and its kind."""

    resource: Resource
    manifest: Object

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    def __repr__(self) -> str:
        return f"{self.resource.kind} {str(self.manifest)[:2000]}"


@st.composite
def metadata(draw: st.DrawFn, namespaced: bool, backend: str) -> Object:
    """Metadata as the server lets it be."""
    labels = draw(st.dictionaries(st.sampled_from(LABEL_KEYS), LABEL_VALUES, max_size=4))
    if draw(st.booleans()):
        labels[names.LABEL_MANAGED_BY] = names.MANAGED_BY
    if draw(st.booleans()):
        labels[names.LABEL_SCHEDULER_BACKEND] = backend
    found: Object = {
        "name": f"poison-{draw(st.sampled_from(['0', '1', '0-a', '0-a-0', 'x' * 200]))}",
        "labels": labels,
        "annotations": draw(
            st.dictionaries(st.sampled_from(ANNOTATION_KEYS), ANY_TEXT, max_size=4)
        ),
        "ownerReferences": draw(st.lists(_OWNER, max_size=2)),
    }
    if namespaced:
        found["namespace"] = draw(st.sampled_from(["default", "default", "evil"]))
    if draw(st.integers(0, 9)) == 0:
        found["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        found["finalizers"] = ["example.com/never"]
    return found


@cache
def _schema(kind: str) -> st.SearchStrategy[Any]:
    root = version(kind)["schema"]["openAPIV3Schema"]
    parts = {
        key: of_schema(part)
        for key, part in root["properties"].items()
        if key in ("spec", "status")
    }
    return some_of(parts, tuple(key for key in parts if key in root.get("required", ())))


def body_of(source: Source[Any]) -> st.SearchStrategy[Any]:
    """What an object of a kind has beside its metadata."""
    resource, into = source.resource, source.into
    if resource.group in _OURS:
        return _schema(resource.kind)
    if issubclass(into, Applied):
        into = into.into
    assert not issubclass(into, KubeModel)
    assert issubclass(into, msgspec.Struct)
    wild = resource.group not in _BUILT_IN
    values = of_projection(into, wild=wild)
    return values.filter(lambda value: isinstance(value, dict)) if wild else values


@st.composite
def objects(draw: st.DrawFn, source: Source[Any], backend: str) -> Poison:
    """An object of a watched kind."""
    resource = source.resource
    body = {k: v for k, v in draw(body_of(source)).items() if k != "metadata"}
    found = draw(metadata(resource.namespaced, backend))
    for term in filter(None, source.selector.labels.split(",")):
        key, _, value = term.partition("=")
        found["labels"][key] = value or "poison"
    managers = (names.FIELD_MANAGER_CORE, f"{names.FIELD_MANAGER_BACKEND_PREFIX}{backend}")
    found["managedFields"] = [
        {
            "manager": manager,
            "operation": "Apply",
            "apiVersion": resource.api_version,
            "fieldsV1": fields_of({k: v for k, v in body.items() if k != "status"}),
        }
        for manager in managers
    ]
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return Poison(resource, {**kind, **body, "metadata": found, "poison": True})
