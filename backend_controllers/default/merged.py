"""A gang as one group of all its members, which is exact on every version of Kubernetes.

The group requests the sum of all minimums, and only members are in it. It needs every one of its
pods, so the sum guarantees the minimum of each group. Pods above the minimum stay outside and are
scheduled one by one once they are ungated.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts, Rendered, Translation
from backend_controllers.contract.manifests import manifest
from backend_controllers.default import gang_form
from backend_controllers.default.gang_form import GangApiFeatures, controller_ref
from backend_controllers.default.membership import (
    EMBEDDED_GROUP,
    Joined,
    gang_name,
    joined_gang,
    joined_workload,
)
from backend_controllers.default.served import (
    POD_GROUPS_V1ALPHA2,
    POD_GROUPS_V1BETA1,
    WORKLOADS_V1ALPHA1,
    WORKLOADS_V1ALPHA2,
    WORKLOADS_V1BETA1,
    Workload,
    WorkloadPodGroup,
)
from backend_controllers.default.topology import one_key
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject

_NO_MINIMUM = "no pod must be scheduled with others, so there is no object for the scheduler"


@dataclass(frozen=True, slots=True)
class MergedGroup:
    """What the one group of a gang requests."""

    min_count: int
    features: GangApiFeatures
    key: str | None = None
    priority_class: str | None = None


Specs = tuple[tuple[Resource, JsonObject], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """The objects of one version of the API."""

    specs: Callable[[ObservedPodGang, MergedGroup], Specs]
    """Returns the kinds and specs of a gang's objects, in the order in which they are written."""
    joined: Joined
    counted: Resource
    """The kind that has the count."""


def translate(
    form: Form, features: GangApiFeatures, gang: ObservedPodGang, facts: Facts
) -> Translation:
    """Return the objects of a gang, or all reasons to reject it."""
    topology = one_key(gang, supported=features.topology)
    if topology.refusals:
        return Translation(refusals=topology.refusals)
    counts = gang_form.count(gang, facts, form.joined)
    remarks = (*gang_form.remarks(gang, counts, features), *_surplus_elsewhere(gang, topology.key))
    # A gang that has no minimum for a while, as in some updates, keeps its object: a count of 0
    # is invalid, and the earlier pods still name the object.
    min_count = sum(counts.joining.values()) or _last_count(facts.owned(form.counted), gang)
    if not min_count:
        return Translation(remarks=(*remarks, _NO_MINIMUM))
    group = MergedGroup(min_count, features, topology.key, gang.spec.priority_class_name)
    refused = gang_form.when_refused(gang, facts)
    name, namespace = gang_name(gang), gang.metadata.namespace
    objects = (
        Rendered(resource, manifest(resource, name, namespace, spec), refused)
        for resource, spec in form.specs(gang, group)
    )
    return Translation(tuple(objects), remarks=remarks)


def _last_count(owned: Iterable[object], gang: ObservedPodGang) -> int:
    name = gang_name(gang)
    for found in owned:
        if isinstance(found, WorkloadPodGroup | Workload) and found.metadata.name == name:
            return found.min_count
    return 0


def _surplus_elsewhere(gang: ObservedPodGang, key: str | None) -> tuple[str, ...]:
    surplus = sum(
        max(len(group.pod_references) - group.min_replicas, 0) for group in gang.spec.podgroups
    )
    if key is None or not surplus:
        return ()
    return (
        f"topology {key} applies to the minimum of each group; {surplus} pods above it are scheduled"
        " anywhere",
    )


def v1alpha1(gang: ObservedPodGang, group: MergedGroup) -> Specs:
    """Return the Workload of Kubernetes 1.35, which contains the group."""
    policy: JsonObject = {"gang": {"minCount": group.min_count}}
    embedded: JsonObject = {"name": EMBEDDED_GROUP, "policy": policy}
    spec: JsonObject = {"controllerRef": controller_ref(gang), "podGroups": [embedded]}
    return ((WORKLOADS_V1ALPHA1, spec),)


def v1alpha2(gang: ObservedPodGang, group: MergedGroup) -> Specs:
    """Return the objects of Kubernetes 1.36. A PodGroup must name a Workload that exists."""
    body = _body(group, "PodGroup")
    reference: JsonObject = {
        "workloadName": gang_name(gang),
        "podGroupTemplateName": EMBEDDED_GROUP,
    }
    return (
        (WORKLOADS_V1ALPHA2, _workload(gang, body)),
        (POD_GROUPS_V1ALPHA2, {"podGroupTemplateRef": {"workload": reference}, **body}),
    )


def v1beta1(gang: ObservedPodGang, group: MergedGroup) -> Specs:
    """Return the objects of Kubernetes 1.37."""
    body = _body(group, {"all": {}})
    reference: JsonObject = {"workloadName": gang_name(gang), "templateName": EMBEDDED_GROUP}
    return (
        (WORKLOADS_V1BETA1, _workload(gang, body)),
        (POD_GROUPS_V1BETA1, {"workloadRef": reference, **body}),
    )


def _workload(gang: ObservedPodGang, body: JsonObject) -> JsonObject:
    template: JsonObject = {"name": EMBEDDED_GROUP, **body}
    return {"controllerRef": controller_ref(gang), "podGroupTemplates": [template]}


def _body(group: MergedGroup, unit: str | JsonObject) -> JsonObject:
    """Return the fields that the group and its template have in common."""
    body: JsonObject = {"schedulingPolicy": {"gang": {"minCount": group.min_count}}}
    if group.key is not None:
        body["schedulingConstraints"] = {"topology": [{"key": group.key}]}
    # If the gate is off, the server drops these without an error, and the object would differ
    # from the manifest forever.
    if group.features.priority:
        body["disruptionMode"] = unit
        if group.priority_class:
            body["priorityClassName"] = group.priority_class
    return body


WORKLOAD_ONLY = Form(v1alpha1, joined_workload, WORKLOADS_V1ALPHA1)
POD_GROUP_V1ALPHA2 = Form(v1alpha2, joined_gang, POD_GROUPS_V1ALPHA2)
POD_GROUP_V1BETA1 = Form(v1beta1, joined_gang, POD_GROUPS_V1BETA1)
