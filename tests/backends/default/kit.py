"""Gangs, pods and facts for tests of the `default` backend."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from backend_controllers.contract.declaration import Dialect, Rendered, Served, Translation
from backend_controllers.default import BACKEND
from backend_controllers.default.membership import ANNOTATION_JOINED, GATE
from backend_controllers.default.options import DefaultOptions
from core_operator.plan.pods.preparation import GangRef, placeholders, substituted
from shared_api import names
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod, PodCondition, PodSpec, PodStatus, SchedulingGate
from shared_api.kube.resources import Resource
from shared_api.models import PodPatch
from shared_api.runtime.watching.predicates import Watched

NAMESPACE = "team"
UID = "0b8f6c3e-5a35-4c0e-9d60-2f1a3f0b7c11"
GROUP = "scheduling.k8s.io"

V135 = ("v1alpha1/workloads",)
V136 = ("v1alpha2/workloads", "v1alpha2/podgroups")
V137 = ("v1beta1/workloads", "v1beta1/podgroups")
TREE = (*V137, "v1alpha3/workloads", "v1alpha3/podgroups", "v1alpha3/compositepodgroups")
TOPOLOGY = "TopologyAwareWorkloadScheduling"
PRIORITY = "WorkloadAwarePreemption"


def served(*kinds: str, kept: Iterable[str] = (), kubernetes: str = "") -> Served:
    """What a cluster answers; kinds as `version/plural`."""
    resources = frozenset((GROUP, *kind.split("/")) for kind in ("v1/priorityclasses", *kinds))
    return Served(
        frozenset((group, version, plural) for group, version, plural in resources),
        kept=frozenset(kept),
        kubernetes=kubernetes,
    )


def dialect(*kinds: str, kept: Iterable[str] = (TOPOLOGY, PRIORITY), **options: Any) -> Dialect:
    """The dialect for such a cluster, which must have one."""
    found = BACKEND.detect(served(*kinds, kept=kept), DefaultOptions(**options))
    assert isinstance(found, Dialect)
    return found


def pack(required: str | None = None, preferred: str | None = None) -> dict[str, Any]:
    """A topology constraint of a gang."""
    levels = {"required": required, "preferred": preferred}
    return {"packConstraint": {key: value for key, value in levels.items() if value}}


def gang(
    groups: Mapping[str, int] | None = None,
    *,
    name: str = "w-0",
    uid: str = UID,
    namespace: str = NAMESPACE,
    pods: int | None = None,
    keys: Mapping[str, str] | None = None,
    **spec: Any,
) -> ObservedPodGang:
    """A gang of groups with their minimums; each refers to `pods` pods, or to its minimum."""
    listed = [
        {
            "name": group,
            "minReplicas": minimum,
            "podReferences": [
                {"namespace": namespace, "name": f"{group}-{index}"}
                for index in range(minimum if pods is None else pods)
            ],
            **({"topologyConstraint": pack(keys[group])} if keys and group in keys else {}),
        }
        for group, minimum in (groups or {"a": 2, "b": 3}).items()
    ]
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "generation": 1},
            "spec": {"podgroups": listed, **spec},
        },
        ObservedPodGang,
    )


def pod(
    group: str,
    index: int,
    *,
    node: str = "",
    joined: str = "",
    gates: Sequence[str] = (),
    conditions: Sequence[PodCondition] = (),
    phase: str = "Pending",
) -> Pod:
    """A pod of a group."""
    return Pod(
        Metadata(
            name=f"{group}-{index}",
            namespace=NAMESPACE,
            labels={names.LABEL_PODCLIQUE: group, names.LABEL_POD_INDEX: str(index)},
            annotations={ANNOTATION_JOINED: joined} if joined else {},
        ),
        PodSpec(node, "default-scheduler", tuple(map(SchedulingGate, gates))),
        PodStatus(phase=phase, conditions=tuple(conditions)),
    )


def pods_of(
    speaks: Dialect,
    of: ObservedPodGang,
    *,
    node: str = "",
    gated: bool = False,
    count: int | None = None,
) -> tuple[Pod, ...]:
    """The pods that a gang refers to, as core makes them with the dialect's preparation."""
    gates = (GATE,) if gated else ()
    return tuple(
        pod(
            group.name,
            index,
            node=node,
            joined=annotation(speaks, of, group.name, index),
            gates=gates,
        )
        for group in of.spec.podgroups
        for index in range(len(group.pod_references) if count is None else count)
    )


def patch_of(speaks: Dialect, of: ObservedPodGang, group: str, index: int) -> dict[str, Any]:
    """What core would lay over a pod, as plain JSON."""
    minimum = next(g.min_replicas for g in of.spec.podgroups if g.name == group)
    patch: PodPatch = speaks.preparation.of_pod(index, minimum)
    reference = GangRef(of.metadata.name, of.metadata.uid or "", of.metadata.namespace or "", "")
    text = patch.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True)
    values = placeholders(reference, group, str(index))
    filled: dict[str, Any] = PodPatch.model_validate_json(substituted(text, values)).manifest()
    return filled


def annotation(speaks: Dialect, of: ObservedPodGang, group: str, index: int) -> str:
    """What a pod would say that it joined."""
    annotations = patch_of(speaks, of, group, index).get("annotations", {})
    return str(annotations.get(ANNOTATION_JOINED, ""))


@dataclass
class Known:
    """Facts that a test makes up."""

    pods: tuple[Pod, ...] = ()
    objects: dict[Resource, tuple[Watched, ...]] = field(default_factory=dict)
    leaving: tuple[Pod, ...] = ()

    def owned(self, resource: Resource) -> tuple[Watched, ...]:
        return self.objects.get(resource, ())

    def get(self, resource: Resource, namespace: str, name: str) -> Watched | None:
        found = (value for value in self.owned(resource) if value.metadata.name == name)
        return next(found, None)

    def all(self, resource: Resource) -> tuple[Watched, ...]:
        return self.owned(resource)


def name_of(item: Rendered) -> str:
    """The name of a rendered object."""
    metadata = item.manifest["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["name"])


def specs(translation: Translation) -> dict[tuple[str, str], Any]:
    """The specs of rendered objects, by kind and by what their name adds to the gang's."""
    prefix = f"w-0-{UID}"
    return {
        (item.resource.kind, name_of(item).removeprefix(prefix).removeprefix("-")): (
            item.manifest["spec"]
        )
        for item in translation.objects
    }
