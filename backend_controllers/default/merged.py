"""A gang as one group of all its members: exact on every version of Kubernetes.

The group asks for the sum of all minimums, and only members are in it. Since it needs every
one of its pods, "so many of any pods" means "the minimum of each group". Pods above the
minimum stay outside and are scheduled by themselves, as soon as they are released.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts, Rendered, Translation, WhenRefused
from backend_controllers.default import gang_form as asking
from backend_controllers.default.gang_form import Features, controller_ref, manifest
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
    PodGroup,
    Workload,
)
from backend_controllers.default.topology import one_key
from shared_api.kube.podgangs import PodGang
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject

_NO_MINIMUM = "no pod has to be placed with others, so there is no object for the scheduler"


@dataclass(frozen=True, slots=True)
class Group:
    """What the one group of a gang asks for."""

    min_count: int
    features: Features
    key: str | None = None
    priority_class: str | None = None


Render = Callable[[PodGang, Group], tuple[tuple[Resource, JsonObject], ...]]


@dataclass(frozen=True, slots=True)
class Form:
    """How one version of the API has it."""

    render: Render
    joined: Joined
    counted: Resource
    """The kind that holds the count."""


def translate(form: Form, features: Features, gang: PodGang, facts: Facts) -> Translation:
    """The objects of a gang."""
    placement = one_key(gang, supported=features.topology)
    if placement.refusals:
        return Translation(refusals=placement.refusals)
    counts = asking.count(gang, facts, form.joined)
    remarks = (*asking.remarks(gang, counts, features), *_surplus_elsewhere(gang, placement.key))
    # A gang that has no minimum for a while, as in some updates, keeps the object that it has:
    # a count of 0 cannot be written, and the pods of before still name it.
    min_count = counts.total or _last_count(facts.owned(form.counted), gang)
    if not min_count:
        return Translation(remarks=(*remarks, _NO_MINIMUM))
    group = Group(min_count, features, placement.key, gang.spec.priority_class_name)
    refused = asking.when_refused(gang, facts)
    return Translation(_rendered(form.render(gang, group), refused), remarks=remarks)


def _rendered(
    objects: Iterable[tuple[Resource, JsonObject]], refused: WhenRefused
) -> tuple[Rendered, ...]:
    return tuple(Rendered(resource, content, refused) for resource, content in objects)


def _last_count(owned: Iterable[object], gang: PodGang) -> int:
    for found in owned:
        if isinstance(found, PodGroup | Workload) and found.metadata.name == gang_name(gang):
            return found.min_count
    return 0


def _surplus_elsewhere(gang: PodGang, key: str | None) -> tuple[str, ...]:
    surplus = sum(
        max(len(group.pod_references) - group.min_replicas, 0) for group in gang.spec.podgroups
    )
    if key is None or not surplus:
        return ()
    return (
        f"topology {key} holds for the minimum of each group; {surplus} pods above it are placed"
        " anywhere",
    )


def v1alpha1(gang: PodGang, group: Group) -> tuple[tuple[Resource, JsonObject], ...]:
    """Kubernetes 1.35: the group is inside the Workload."""
    embedded: JsonObject = {
        "name": EMBEDDED_GROUP,
        "policy": {"gang": {"minCount": group.min_count}},
    }
    spec: JsonObject = {"controllerRef": controller_ref(gang), "podGroups": [embedded]}
    name = gang_name(gang)
    return ((WORKLOADS_V1ALPHA1, manifest(WORKLOADS_V1ALPHA1, gang, name, spec)),)


def v1alpha2(gang: PodGang, group: Group) -> tuple[tuple[Resource, JsonObject], ...]:
    """Kubernetes 1.36. The Workload comes first: no PodGroup may name one that is not there."""
    name = gang_name(gang)
    body = _body(group, "PodGroup")
    reference: JsonObject = {"workloadName": name, "podGroupTemplateName": EMBEDDED_GROUP}
    pod_group: JsonObject = {"podGroupTemplateRef": {"workload": reference}, **body}
    return (
        (WORKLOADS_V1ALPHA2, _workload(WORKLOADS_V1ALPHA2, gang, body)),
        (POD_GROUPS_V1ALPHA2, manifest(POD_GROUPS_V1ALPHA2, gang, name, pod_group)),
    )


def v1beta1(gang: PodGang, group: Group) -> tuple[tuple[Resource, JsonObject], ...]:
    """Kubernetes 1.37."""
    name = gang_name(gang)
    body = _body(group, {"all": {}})
    reference: JsonObject = {"workloadName": name, "templateName": EMBEDDED_GROUP}
    pod_group: JsonObject = {"workloadRef": reference, **body}
    return (
        (WORKLOADS_V1BETA1, _workload(WORKLOADS_V1BETA1, gang, body)),
        (POD_GROUPS_V1BETA1, manifest(POD_GROUPS_V1BETA1, gang, name, pod_group)),
    )


def _workload(resource: Resource, gang: PodGang, body: JsonObject) -> JsonObject:
    templates: list[JsonObject] = [{"name": EMBEDDED_GROUP, **body}]
    spec: JsonObject = {"controllerRef": controller_ref(gang), "podGroupTemplates": [*templates]}
    return manifest(resource, gang, gang_name(gang), spec)


def _body(group: Group, unit: str | JsonObject) -> JsonObject:
    """What the group and its template have in common."""
    body: JsonObject = {"schedulingPolicy": {"gang": {"minCount": group.min_count}}}
    if group.key is not None:
        body["schedulingConstraints"] = {"topology": [{"key": group.key}]}
    # Where the gate is off the server drops these without a word, and they would be wanted
    # and absent for ever.
    if group.features.priority:
        body["disruptionMode"] = unit
        if group.priority_class:
            body["priorityClassName"] = group.priority_class
    return body


WORKLOAD_ONLY = Form(v1alpha1, joined_workload, WORKLOADS_V1ALPHA1)
POD_GROUP_V1ALPHA2 = Form(v1alpha2, joined_gang, POD_GROUPS_V1ALPHA2)
POD_GROUP_V1BETA1 = Form(v1beta1, joined_gang, POD_GROUPS_V1BETA1)
