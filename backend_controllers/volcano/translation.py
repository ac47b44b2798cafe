"""A gang as Volcano's PodGroup.

It has the gang's name, as Grove's own Volcano backend has it. The manifest holds what the
gang asks for and nothing that Volcano writes, nor a field that the installed CRD lacks. Queue
and priority class are passed on even if they do not exist, since they may be created later;
that is said, not refused.
"""

from dataclasses import dataclass

from backend_controllers.contract import Facts, Rendered, Translation, pack_of
from backend_controllers.volcano.admission import minimum_of, unknown_clique
from backend_controllers.volcano.api import PODGROUPS
from backend_controllers.volcano.features import Features, VolcanoOptions
from backend_controllers.volcano.parts import (
    Part,
    parts_of,
    remark_on_strangers,
    tier_of_whole,
)
from backend_controllers.volcano.placing import Notes, Placing
from backend_controllers.volcano.queues import misnomer_of, queue_of
from backend_controllers.volcano.tiers import network_topology, tiers_of
from shared_api.kube.podgangs import PodGang
from shared_api.kube.requests import NoQuantityError
from shared_api.kube.resources import PRIORITY_CLASSES
from shared_api.models import JsonObject


@dataclass(frozen=True, slots=True)
class Speech:
    """How this cluster's Volcano is spoken to."""

    features: Features
    options: VolcanoOptions

    @property
    def states_minimum(self) -> bool:
        """Tell whether PodGroups carry minResources."""
        return self.options.queue_admission and self.features.min_resources


def translate(speech: Speech, gang: PodGang, facts: Facts) -> Translation:
    """The PodGroup of a gang, or all that stands against one."""
    if speech.states_minimum and (unknown := unknown_clique(gang, facts)):
        return Translation(lacks=f"PodClique {unknown}")
    notes = Notes()
    manifest: JsonObject = {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {"name": gang.metadata.name, "namespace": gang.metadata.namespace},
        "spec": _spec(speech, gang, facts, notes),
    }
    # A group is looked at by itself and as part of a set.
    refusals, remarks = (tuple(dict.fromkeys(said)) for said in (notes.refusals, notes.remarks))
    if refusals:
        return Translation(refusals=refusals, remarks=remarks)
    return Translation(objects=(Rendered(PODGROUPS, manifest),), remarks=remarks)


def _spec(speech: Speech, gang: PodGang, facts: Facts, notes: Notes) -> JsonObject:
    queue = queue_of(gang, speech.options.default_queue)
    if misnomer := misnomer_of(queue):
        notes.refusals.append(misnomer)
    if not gang.spec.podgroups:
        notes.refusals.append("the gang has no groups")
    placing = Placing(speech.features, tiers_of(levels_of(gang), facts), notes)
    whole = tier_of_whole(gang, placing)
    parts = parts_of(gang, placing, whole)
    remark_on_strangers(gang, placing)
    members = sum(group.min_replicas for group in gang.spec.podgroups)
    spec: JsonObject = {"queue": queue, "minMember": members}
    spec.update(_minimums(speech.features, gang, parts, notes))
    if speech.states_minimum:
        spec.update(_resources(gang, facts, notes))
    if whole is not None:
        spec["networkTopology"] = network_topology(whole)
    priority = gang.spec.priority_class_name
    if priority:
        spec["priorityClassName"] = priority
        _weigh_priority(priority, facts, notes)
        if whole is not None or any(part.tier is not None for part in parts):
            notes.remarks.append(
                "Volcano evicts nobody for a gang with a placement, whatever its priority"
            )
    if gang.spec.reuse_reservation_ref is not None:
        notes.remarks.append("Volcano has no reservations that could be taken over")
    return spec


def levels_of(gang: PodGang) -> set[str]:
    """All levels that the gang asks for."""
    constraints = [gang.spec.topology_constraint]
    constraints += [c.topology_constraint for c in gang.spec.topology_constraint_group_configs]
    constraints += [group.topology_constraint for group in gang.spec.podgroups]
    packs = map(pack_of, constraints)
    return {level for pack in packs for level in (pack.required, pack.preferred) if level}


def _minimums(features: Features, gang: PodGang, parts: list[Part], notes: Notes) -> JsonObject:
    """The minimums of groups, where the total is not enough."""
    if features.sub_groups:
        return {"subGroupPolicy": [part.policy() for part in parts]}
    if features.tasks:
        return {"minTaskMember": {group.name: group.min_replicas for group in gang.spec.podgroups}}
    if len(gang.spec.podgroups) > 1:
        notes.refusals.append(
            f"the gang has {len(gang.spec.podgroups)} groups with a minimum each, and the installed"
            f" Volcano ({features.release}) only counts all pods together: install the CRDs of"
            " Volcano v1.14 or newer"
        )
    return {}


def _resources(gang: PodGang, facts: Facts, notes: Notes) -> JsonObject:
    try:
        asked = minimum_of(gang, facts)
    except NoQuantityError as error:
        notes.refusals.append(str(error))
        return {}
    # Without it Volcano lets the gang in at once; with an empty one it would ask its plugins.
    return {"minResources": asked} if asked else {}


def _weigh_priority(priority: str, facts: Facts, notes: Notes) -> None:
    if facts.get(PRIORITY_CLASSES, "", priority) is None:
        notes.remarks.append(
            f"PriorityClass '{priority}' does not exist: Volcano takes its default priority"
        )
