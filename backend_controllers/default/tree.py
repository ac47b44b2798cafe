"""A gang as a tree: a PodGroup for each group, CompositePodGroups for sets of groups and the gang.

Each group has its own minimum and topology key, and the root needs all its children. So the gang
is scheduled as a whole or not at all. Pods above the minimum are in the PodGroup of their group,
which schedules them after its minimum. A group that requests no pods is outside the tree: inside,
it would count as one of the children that the root needs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from backend_controllers.contract.declaration import Facts, Rendered, Translation
from backend_controllers.contract.manifests import manifest
from backend_controllers.contract.pack_requests import Scope
from backend_controllers.default import gang_form
from backend_controllers.default.gang_form import Counts, GangApiFeatures, controller_ref
from backend_controllers.default.membership import gang_name, joined_leaf, part_name
from backend_controllers.default.served import (
    COMPOSITE_POD_GROUPS,
    POD_GROUPS_V1BETA1,
    WORKLOADS_V1BETA1,
    WorkloadPodGroup,
)
from backend_controllers.default.templates import (
    ROOT_TEMPLATE,
    Leaf,
    PackedGroups,
    Templates,
    TooManyShapesError,
    choose_templates,
)
from backend_controllers.default.topology import field_of, required_keys
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject

_FEATURES = GangApiFeatures(topology=True, priority=True)


@dataclass(frozen=True, slots=True)
class Tree:
    """The groups of a gang, their parents, and the topology key of the gang."""

    key: str | None
    direct: tuple[Leaf, ...]
    branches: tuple[PackedGroups, ...]
    alone: tuple[Leaf, ...]
    """Groups that request no pods."""

    @property
    def children(self) -> int:
        """How many children the root has and needs."""
        return len(self.direct) + len(self.branches)


def translate(gang: ObservedPodGang, facts: Facts) -> Translation:
    """Return the objects of a gang, or all reasons to reject it."""
    counts = _counted(gang, facts)
    overlaps = tuple(_overlaps(gang))
    if overlaps:
        return Translation(refusals=overlaps)
    tree = _tree(gang, counts)
    try:
        templates = choose_templates(tree.direct, tree.branches)
    except TooManyShapesError as error:
        return Translation(refusals=(str(error),))
    refused = gang_form.when_refused(gang, facts)
    objects = tuple(
        Rendered(resource, manifest(resource, name, gang.metadata.namespace, spec), refused)
        for resource, name, spec in _objects(gang, tree, templates)
    )
    return Translation(objects, remarks=tuple(gang_form.remarks(gang, counts, _FEATURES)))


def _counted(gang: ObservedPodGang, facts: Facts) -> Counts:
    counts = gang_form.count(gang, facts, joined_leaf)
    if any(group.min_replicas for group in gang.spec.podgroups):
        return counts
    # A gang without any minimum for a while, as in some updates, keeps its tree.
    owned = {
        found.metadata.name: found.min_count
        for found in facts.owned(POD_GROUPS_V1BETA1)
        if isinstance(found, WorkloadPodGroup)
    }
    last = {name: owned.get(part_name(gang, name), 0) for name in counts.joining}
    return replace(counts, joining=last)


def _overlaps(gang: ObservedPodGang) -> Iterator[str]:
    seen: dict[str, str] = {}
    for request in required_keys(gang, Scope.GROUP_SET):
        for group in sorted(request.groups):
            if group in seen:
                yield (
                    f"{field_of(request)}: group '{group}' is also in group set '{seen[group]}', and"
                    " a group has one parent. Remove the group from one of them"
                )
            seen[group] = request.name


def _tree(gang: ObservedPodGang, counts: Counts) -> Tree:
    keys = {one.name: one.pack.required for one in required_keys(gang, Scope.GROUP)}
    leaves = tuple(
        Leaf(position, group.name, counts.joining[group.name], keys.get(group.name))
        for position, group in enumerate(gang.spec.podgroups)
    )
    counted = tuple(leaf for leaf in leaves if leaf.count)
    sets = required_keys(gang, Scope.GROUP_SET)
    branches = (
        PackedGroups(
            position,
            one.name,
            one.pack.required,
            tuple(leaf for leaf in counted if leaf.group in one.groups),
        )
        for position, one in enumerate(sets)
    )
    in_sets = frozenset(group for one in sets for group in one.groups)
    return Tree(
        key=next((one.pack.required for one in required_keys(gang, Scope.GANG)), None),
        direct=tuple(leaf for leaf in counted if leaf.group not in in_sets),
        branches=tuple(branch for branch in branches if branch.leaves),
        alone=tuple(leaf for leaf in leaves if not leaf.count),
    )


def _objects(
    gang: ObservedPodGang, tree: Tree, templates: Templates
) -> Iterator[tuple[Resource, str, JsonObject]]:
    """Yield kind, name and spec of each object, in the order in which they are written."""
    root = gang_name(gang)
    priority = gang.spec.priority_class_name

    def of(template: str) -> JsonObject:
        return {"workloadRef": {"workloadName": root, "templateName": template}}

    if tree.children:
        yield WORKLOADS_V1BETA1, root, _workload(gang, tree, templates)
        body = _composite(tree.children, tree.key, priority)
        yield COMPOSITE_POD_GROUPS, root, of(ROOT_TEMPLATE) | body
    for branch in tree.branches:
        body = _composite(len(branch.leaves), branch.key, priority)
        spec = of(templates.of_branch[branch.name]) | body
        spec["parentCompositePodGroupName"] = root
        yield COMPOSITE_POD_GROUPS, part_name(gang, branch.name), spec
    parents = [(root, tree.direct)]
    parents += [(part_name(gang, branch.name), branch.leaves) for branch in tree.branches]
    for parent, leaves in parents:
        for leaf in leaves:
            spec = _leaf(leaf, priority) | of(templates.of_leaf[leaf.group])
            spec["parentCompositePodGroupName"] = parent
            yield POD_GROUPS_V1BETA1, part_name(gang, leaf.group), spec
    for leaf in tree.alone:
        # Its pods do not depend on each other, so they are not disrupted together.
        spec = {"schedulingPolicy": {"basic": {}}, **_constraints(leaf.key, priority)}
        yield POD_GROUPS_V1BETA1, part_name(gang, leaf.group), spec


def _workload(gang: ObservedPodGang, tree: Tree, templates: Templates) -> JsonObject:
    priority = gang.spec.priority_class_name
    root: JsonObject = {
        "name": ROOT_TEMPLATE,
        **_composite(tree.children, tree.key, priority),
        **_leaf_templates(templates, tree.direct, priority),
    }
    inner: list[JsonObject] = [
        {
            "name": templates.of_branch[branch.name],
            **_composite(len(branch.leaves), branch.key, priority),
            **_leaf_templates(templates, branch.leaves, priority),
        }
        for branch in templates.branches
    ]
    if inner:
        root["compositePodGroupTemplates"] = [*inner]
    return {"controllerRef": controller_ref(gang), "compositePodGroupTemplates": [root]}


def _leaf_templates(
    templates: Templates, leaves: Iterable[Leaf], priority: str | None
) -> JsonObject:
    listed: list[JsonObject] = [
        {"name": templates.of_leaf[leaf.group], **_leaf(leaf, priority)}
        for leaf in leaves
        if leaf in templates.leaves
    ]
    return {"podGroupTemplates": [*listed]} if listed else {}


def _leaf(leaf: Leaf, priority: str | None) -> JsonObject:
    return _unit({"gang": {"minCount": leaf.count}}, leaf.key, priority)


def _composite(children: int, key: str | None, priority: str | None) -> JsonObject:
    return _unit({"gang": {"minGroupCount": children}}, key, priority)


def _unit(policy: JsonObject, key: str | None, priority: str | None) -> JsonObject:
    constraints = _constraints(key, priority)
    return {"schedulingPolicy": policy, "disruptionMode": {"all": {}}, **constraints}


def _constraints(key: str | None, priority: str | None) -> JsonObject:
    constraints: JsonObject = {}
    if key is not None:
        constraints["schedulingConstraints"] = {"topology": [{"key": key}]}
    # The scheduler rejects a gang whose groups or pods differ in priority.
    if priority:
        constraints["priorityClassName"] = priority
    return constraints
