"""A gang as Volcano's PodGroup.

The PodGroup has the gang's name, as in Grove's own Volcano backend. The manifest has only what the
gang requests: no field that Volcano writes, and none that the installed CRD lacks. Queue and
priority class are written even if they do not exist, since they may be created later; a remark
reports it.
"""

from backend_controllers.contract.cliques import cliques_of, missing_clique
from backend_controllers.contract.declaration import Facts, Rendered, Translation
from backend_controllers.contract.findings import Findings
from backend_controllers.contract.manifests import manifest
from backend_controllers.contract.pack_requests import levels_of
from backend_controllers.contract.remarks import (
    missing_priority_class,
    no_reservations,
    unknown_groups,
)
from backend_controllers.contract.requested_values import requested_values
from backend_controllers.volcano.admission import minimum_of
from backend_controllers.volcano.api import PODGROUPS, VolcanoClique
from backend_controllers.volcano.installation import VolcanoFeatures, VolcanoInstallation
from backend_controllers.volcano.queues import QUEUE_KEYS, invalid_name, queue_of
from backend_controllers.volcano.subgroups import SubGroupPlan, parts_of, tier_of_gang
from backend_controllers.volcano.tiers import network_topology, tiers_of
from backend_controllers.volcano.topology_requests import VolcanoTopologyRequests
from shared_api.kube.pod_resources import NoQuantityError
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.models import JsonObject


def translate(
    installation: VolcanoInstallation, gang: ObservedPodGang, facts: Facts
) -> Translation:
    """Return the PodGroup of a gang, or all reasons to reject the gang."""
    requested = requested_values(gang, facts)
    if requested.missing:
        return Translation(lacks=requested.missing)
    findings = Findings()
    resources: JsonObject = {}
    if installation.has_min_resources:
        cliques = cliques_of(gang, facts, VolcanoClique)
        if missing := missing_clique(gang, cliques):
            return Translation(lacks=f"PodClique {missing}")
        try:
            resources = minimum_of(gang, cliques)
        except NoQuantityError as error:
            findings.refusals.append(str(error))
    if contradiction := requested.contradiction(*QUEUE_KEYS):
        findings.refusals.append(contradiction)
    spec = _spec(installation, queue_of(installation, requested), gang, facts, findings)
    if resources:
        # Volcano admits a gang without it at once; an empty one it would show to its plugins.
        spec["minResources"] = resources
    # A group may be checked twice, by itself and as part of a set.
    refusals, remarks = (
        tuple(dict.fromkeys(found)) for found in (findings.refusals, findings.remarks)
    )
    if refusals:
        return Translation(refusals=refusals, remarks=remarks)
    pod_group = manifest(PODGROUPS, gang.metadata.name, gang.metadata.namespace, spec)
    return Translation(objects=(Rendered(PODGROUPS, pod_group),), remarks=remarks)


def _spec(
    installation: VolcanoInstallation,
    queue: str,
    gang: ObservedPodGang,
    facts: Facts,
    findings: Findings,
) -> JsonObject:
    if invalid := invalid_name(queue):
        findings.refusals.append(invalid)
    if not gang.spec.podgroups:
        findings.refusals.append("the gang has no groups")
    tiers = tiers_of(levels_of(gang), facts)
    requests = VolcanoTopologyRequests(installation.features, tiers, findings)
    gang_tier = tier_of_gang(gang, requests)
    parts = parts_of(gang, requests, gang_tier)
    findings.remarks.extend(unknown_groups(gang))
    members = sum(group.min_replicas for group in gang.spec.podgroups)
    spec: JsonObject = {"queue": queue, "minMember": members}
    spec.update(_minimums(installation.features, gang, parts, findings))
    if gang_tier is not None:
        spec["networkTopology"] = network_topology(gang_tier)
    if gang.spec.priority_class_name:
        spec["priorityClassName"] = gang.spec.priority_class_name
        findings.remarks.extend(
            missing_priority_class(gang.spec.priority_class_name, facts, "Volcano")
        )
        if gang_tier is not None or any(part.tier is not None for part in parts):
            findings.remarks.append(
                "Volcano evicts no pods for a gang with a topology constraint, whatever its priority"
            )
    findings.remarks.extend(no_reservations(gang, "Volcano"))
    return spec


def _minimums(
    features: VolcanoFeatures, gang: ObservedPodGang, parts: list[SubGroupPlan], findings: Findings
) -> JsonObject:
    """Return the minimums of groups, if the total is not enough."""
    if features.sub_groups:
        return {"subGroupPolicy": [part.policy() for part in parts]}
    if features.tasks:
        return {"minTaskMember": {group.name: group.min_replicas for group in gang.spec.podgroups}}
    if len(gang.spec.podgroups) > 1:
        findings.refusals.append(
            f"the gang has {len(gang.spec.podgroups)} groups with a minimum each, and the installed"
            f" Volcano ({features.release}) counts only all pods together. Install the CRDs of"
            " Volcano v1.14 or newer"
        )
    return {}
