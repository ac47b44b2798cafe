"""A gang as a tree: a PodGroup for each group, CompositePodGroups for sets of groups and the gang.

Each group has its own minimum and topology key, and the root needs all its children, so the
gang is placed whole or not at all. Pods above the minimum are in the PodGroup of their group,
which places them once its minimum is. A group that asks for nobody, now or any more, stands
outside the tree: inside it would count for one of the children that the root needs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from backend_controllers.contract.declaration import Facts, Rendered, Translation
from backend_controllers.default import gang_form as asking
from backend_controllers.default.gang_form import Counts, Features, controller_ref, manifest
from backend_controllers.default.membership import gang_name, joined_leaf, part_name
from backend_controllers.default.served import (
    COMPOSITE_POD_GROUPS,
    POD_GROUPS_V1BETA1,
    WORKLOADS_V1BETA1,
    PodGroup,
)
from backend_controllers.default.templates import (
    ROOT_TEMPLATE,
    Branch,
    Leaf,
    Templates,
    TooManyShapesError,
    choose_templates,
)
from backend_controllers.default.topology import gang_ask, group_asks, set_asks
from shared_api.kube.podgangs import PodGang
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject

_FEATURES = Features(topology=True, priority=True)


@dataclass(frozen=True, slots=True)
class Tree:
    """The groups of a gang, where they hang, and what is asked of the whole."""

    key: str | None
    direct: tuple[Leaf, ...]
    branches: tuple[Branch, ...]
    alone: tuple[Leaf, ...]
    """Groups that ask for nobody."""

    @property
    def children(self) -> int:
        """How many children the root has, and needs."""
        return len(self.direct) + len(self.branches)


def translate(gang: PodGang, facts: Facts) -> Translation:
    """The objects of a gang."""
    counts = _counted(gang, facts)
    overlaps = tuple(_overlaps(gang))
    if overlaps:
        return Translation(refusals=overlaps)
    tree = _tree(gang, counts)
    try:
        templates = choose_templates(tree.direct, tree.branches)
    except TooManyShapesError as error:
        return Translation(refusals=(str(error),))
    refused = asking.when_refused(gang, facts)
    objects = tuple(
        Rendered(resource, content, refused)
        for resource, content in _objects(gang, tree, templates)
    )
    return Translation(objects, remarks=asking.remarks(gang, counts, _FEATURES))


def _counted(gang: PodGang, facts: Facts) -> Counts:
    counts = asking.count(gang, facts, joined_leaf)
    if any(group.min_replicas for group in gang.spec.podgroups):
        return counts
    # No minimum at all for a while, as in some updates: the tree stays as it is.
    owned = {
        found.metadata.name: found.min_count
        for found in facts.owned(POD_GROUPS_V1BETA1)
        if isinstance(found, PodGroup)
    }
    last = {name: owned.get(part_name(gang, name), 0) for name in counts.joining}
    return replace(counts, joining=last)


def _overlaps(gang: PodGang) -> Iterator[str]:
    seen: dict[str, str] = {}
    for ask in set_asks(gang):
        for group in sorted(ask.groups):
            if group in seen:
                yield (
                    f"{ask}: group {group} is in {seen[group]} as well, and a group has one parent;"
                    " make the sets disjoint"
                )
            seen[group] = ask.path


def _tree(gang: PodGang, counts: Counts) -> Tree:
    keys = {ask.name: ask.key for ask in group_asks(gang)}
    leaves = tuple(
        Leaf(position, group.name, counts.joining[group.name], keys.get(group.name))
        for position, group in enumerate(gang.spec.podgroups)
    )
    counted = tuple(leaf for leaf in leaves if leaf.count)
    sets, whole = set_asks(gang), gang_ask(gang)
    branches = (
        Branch(
            position, ask.name, ask.key, tuple(leaf for leaf in counted if leaf.group in ask.groups)
        )
        for position, ask in enumerate(sets)
    )
    in_sets = frozenset(group for ask in sets for group in ask.groups)
    return Tree(
        key=whole.key if whole else None,
        direct=tuple(leaf for leaf in counted if leaf.group not in in_sets),
        branches=tuple(branch for branch in branches if branch.leaves),
        alone=tuple(leaf for leaf in leaves if not leaf.count),
    )


def _objects(
    gang: PodGang, tree: Tree, templates: Templates
) -> Iterable[tuple[Resource, JsonObject]]:
    root = gang_name(gang)
    priority = gang.spec.priority_class_name
    if tree.children:
        yield WORKLOADS_V1BETA1, _workload(gang, tree, templates)
        body = _composite(tree.children, tree.key, priority)
        yield _composite_object(gang, root, ROOT_TEMPLATE, body)
    for branch in tree.branches:
        body = _composite(len(branch.leaves), branch.key, priority)
        template = templates.of_branch[branch.name]
        body["parentCompositePodGroupName"] = root
        yield _composite_object(gang, part_name(gang, branch.name), template, body)
    for leaf, parent in _placed_leaves(gang, tree):
        spec = _leaf(leaf, priority)
        reference: JsonObject = {
            "workloadName": root,
            "templateName": templates.of_leaf[leaf.group],
        }
        spec |= {"workloadRef": reference, "parentCompositePodGroupName": parent}
        yield _pod_group(gang, leaf, spec)
    for leaf in tree.alone:
        yield _pod_group(gang, leaf, _alone(leaf, priority))


def _placed_leaves(gang: PodGang, tree: Tree) -> Iterator[tuple[Leaf, str]]:
    for leaf in tree.direct:
        yield leaf, gang_name(gang)
    for branch in tree.branches:
        for leaf in branch.leaves:
            yield leaf, part_name(gang, branch.name)


def _composite_object(
    gang: PodGang, name: str, template: str, body: JsonObject
) -> tuple[Resource, JsonObject]:
    reference: JsonObject = {"workloadName": gang_name(gang), "templateName": template}
    spec: JsonObject = {"workloadRef": reference, **body}
    return COMPOSITE_POD_GROUPS, manifest(COMPOSITE_POD_GROUPS, gang, name, spec)


def _pod_group(gang: PodGang, leaf: Leaf, spec: JsonObject) -> tuple[Resource, JsonObject]:
    name = part_name(gang, leaf.group)
    return POD_GROUPS_V1BETA1, manifest(POD_GROUPS_V1BETA1, gang, name, spec)


def _workload(gang: PodGang, tree: Tree, templates: Templates) -> JsonObject:
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
    spec: JsonObject = {
        "controllerRef": controller_ref(gang),
        "compositePodGroupTemplates": [root],
    }
    return manifest(WORKLOADS_V1BETA1, gang, gang_name(gang), spec)


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
    return {
        "schedulingPolicy": {"gang": {"minCount": leaf.count}},
        **_unit(leaf.key, priority),
    }


def _composite(children: int, key: str | None, priority: str | None) -> JsonObject:
    return {
        "schedulingPolicy": {"gang": {"minGroupCount": children}},
        **_unit(key, priority),
    }


def _alone(leaf: Leaf, priority: str | None) -> JsonObject:
    spec: JsonObject = {"schedulingPolicy": {"basic": {}}, **_unit(leaf.key, priority)}
    # Its pods owe nothing to each other.
    del spec["disruptionMode"]
    return spec


def _unit(key: str | None, priority: str | None) -> JsonObject:
    unit: JsonObject = {"disruptionMode": {"all": {}}}
    if key is not None:
        unit["schedulingConstraints"] = {"topology": [{"key": key}]}
    # The scheduler refuses a gang whose groups, or pods, differ in priority.
    if priority:
        unit["priorityClassName"] = priority
    return unit
