"""A gang as Volcano's PodGroup.

It has the gang's name, as Grove's own Volcano backend has it. The manifest holds what the
gang asks for and nothing that Volcano writes, nor a field that the installed CRD lacks. Queue
and priority class are passed on even if they do not exist, since they may be created later;
that is said, not refused.
"""

from backend_controllers.contract.declaration import Facts, Rendered, Translation, pack_of
from backend_controllers.contract.findings import Findings
from backend_controllers.volcano.admission import minimum_of, unknown_clique
from backend_controllers.volcano.api import PODGROUPS
from backend_controllers.volcano.features import Features, VolcanoInstallation
from backend_controllers.volcano.queues import misnomer_of, queue_of
from backend_controllers.volcano.subgroups import (
    Part,
    parts_of,
    remark_on_strangers,
    tier_of_whole,
)
from backend_controllers.volcano.tiers import network_topology, tiers_of
from backend_controllers.volcano.topology_requests import Placing
from shared_api.kube.pod_resources import NoQuantityError
from shared_api.kube.podgangs import PodGang
from shared_api.kube.resources import PRIORITY_CLASSES
from shared_api.models import JsonObject


def translate(installation: VolcanoInstallation, gang: PodGang, facts: Facts) -> Translation:
    """The PodGroup of a gang, or all that stands against one."""
    if installation.states_minimum and (unknown := unknown_clique(gang, facts)):
        return Translation(lacks=f"PodClique {unknown}")
    findings = Findings()
    manifest: JsonObject = {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": {"name": gang.metadata.name, "namespace": gang.metadata.namespace},
        "spec": _spec(installation, gang, facts, findings),
    }
    # A group is looked at by itself and as part of a set.
    refusals, remarks = (
        tuple(dict.fromkeys(said)) for said in (findings.refusals, findings.remarks)
    )
    if refusals:
        return Translation(refusals=refusals, remarks=remarks)
    return Translation(objects=(Rendered(PODGROUPS, manifest),), remarks=remarks)


def _spec(
    installation: VolcanoInstallation, gang: PodGang, facts: Facts, findings: Findings
) -> JsonObject:
    queue = queue_of(gang, installation.options.default_queue)
    if misnomer := misnomer_of(queue):
        findings.refusals.append(misnomer)
    if not gang.spec.podgroups:
        findings.refusals.append("the gang has no groups")
    placing = Placing(installation.features, tiers_of(levels_of(gang), facts), findings)
    whole = tier_of_whole(gang, placing)
    parts = parts_of(gang, placing, whole)
    remark_on_strangers(gang, placing)
    members = sum(group.min_replicas for group in gang.spec.podgroups)
    spec: JsonObject = {"queue": queue, "minMember": members}
    spec.update(_minimums(installation.features, gang, parts, findings))
    if installation.states_minimum:
        spec.update(_resources(gang, facts, findings))
    if whole is not None:
        spec["networkTopology"] = network_topology(whole)
    priority = gang.spec.priority_class_name
    if priority:
        spec["priorityClassName"] = priority
        _weigh_priority(priority, facts, findings)
        if whole is not None or any(part.tier is not None for part in parts):
            findings.remarks.append(
                "Volcano evicts nobody for a gang with a placement, whatever its priority"
            )
    if gang.spec.reuse_reservation_ref is not None:
        findings.remarks.append("Volcano has no reservations that could be taken over")
    return spec


def levels_of(gang: PodGang) -> set[str]:
    """All levels that the gang asks for."""
    constraints = [gang.spec.topology_constraint]
    constraints += [c.topology_constraint for c in gang.spec.topology_constraint_group_configs]
    constraints += [group.topology_constraint for group in gang.spec.podgroups]
    packs = map(pack_of, constraints)
    return {level for pack in packs for level in (pack.required, pack.preferred) if level}


def _minimums(
    features: Features, gang: PodGang, parts: list[Part], findings: Findings
) -> JsonObject:
    """The minimums of groups, where the total is not enough."""
    if features.sub_groups:
        return {"subGroupPolicy": [part.policy() for part in parts]}
    if features.tasks:
        return {"minTaskMember": {group.name: group.min_replicas for group in gang.spec.podgroups}}
    if len(gang.spec.podgroups) > 1:
        findings.refusals.append(
            f"the gang has {len(gang.spec.podgroups)} groups with a minimum each, and the installed"
            f" Volcano ({features.release}) only counts all pods together: install the CRDs of"
            " Volcano v1.14 or newer"
        )
    return {}


def _resources(gang: PodGang, facts: Facts, findings: Findings) -> JsonObject:
    try:
        asked = minimum_of(gang, facts)
    except NoQuantityError as error:
        findings.refusals.append(str(error))
        return {}
    # Without it Volcano lets the gang in at once; with an empty one it would ask its plugins.
    return {"minResources": asked} if asked else {}


def _weigh_priority(priority: str, facts: Facts, findings: Findings) -> None:
    if facts.get(PRIORITY_CLASSES, "", priority) is None:
        findings.remarks.append(
            f"PriorityClass '{priority}' does not exist: Volcano takes its default priority"
        )
