"""A gang as KAI's PodGroup.

The manifest has only what the gang requests: no field that KAI writes at run time, and none that
the installed CRD lacks. Top-level `minMember` is never set: KAI ignores it beside sub-groups and
rejects it beside `minSubGroup`. Queue and priority class are written even if they do not exist,
since they may be created later; a remark reports it. If pods of an earlier gang fill all minimums,
there may be no sub-group left, and then there is no PodGroup.
"""

from backend_controllers.contract.declaration import Facts, Rendered, Translation
from backend_controllers.contract.findings import Findings
from backend_controllers.contract.manifests import manifest
from backend_controllers.contract.remarks import no_reservations, unknown_groups
from backend_controllers.contract.requested_values import RequestedValues, requested_values
from backend_controllers.kai.api import PODGROUPS, pod_group_name
from backend_controllers.kai.installation import KaiInstallation
from backend_controllers.kai.membership import minimums, pods_of_earlier_gang, pods_of_grove
from backend_controllers.kai.queues import no_queue, queue_of
from backend_controllers.kai.scheduling_policy import contradictions, labels_of, policy_of
from backend_controllers.kai.subgroups import roots, sub_groups
from backend_controllers.kai.topology_levels import topology_of
from backend_controllers.kai.topology_requests import KaiTopologyRequests
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.models import JsonObject


def translate(installation: KaiInstallation, gang: ObservedPodGang, facts: Facts) -> Translation:
    """Return the PodGroup of a gang, or all reasons to reject the gang."""
    requested = requested_values(gang, facts)
    if requested.missing:
        return Translation(lacks=requested.missing)
    findings = Findings()
    findings.refusals.extend(contradictions(requested))
    queue = queue_of(installation, requested)
    labels = labels_of(requested, queue, findings)
    spec = _spec(installation, requested, facts, findings)
    if queue is None:
        findings.refusals.append(no_queue(facts))
    else:
        spec["queue"] = queue
    remarks = tuple(findings.remarks)
    if findings.refusals:
        return Translation(refusals=tuple(findings.refusals), remarks=remarks)
    if not spec["subGroups"]:
        return Translation(remarks=remarks)
    rendered = Rendered(PODGROUPS, _manifest(gang, labels, spec))
    return Translation(objects=(rendered,), remarks=remarks)


def _manifest(gang: ObservedPodGang, labels: JsonObject, spec: JsonObject) -> JsonObject:
    # KAI adds its timestamps with a JSON patch from its snapshot. On an object without
    # annotations, that patch replaces the whole map.
    annotations: JsonObject = {names.LABEL_PODGANG: gang.metadata.name}
    name = pod_group_name(gang.metadata.name, gang.metadata.uid)
    namespace = gang.metadata.namespace
    return manifest(PODGROUPS, name, namespace, spec, labels=labels, annotations=annotations)


def _spec(
    installation: KaiInstallation, requested: RequestedValues, facts: Facts, findings: Findings
) -> JsonObject:
    features, gang = installation.features, requested.gang
    if not gang.spec.podgroups:
        findings.refusals.append("the gang has no groups")
    findings.remarks.extend(unknown_groups(gang))
    topology = topology_of(gang, facts) if features.topology else None
    requests = KaiTopologyRequests(features, topology, findings)
    entries = sub_groups(gang, requests, minimums(gang, facts.pods, features))
    spec: JsonObject = {"subGroups": [*entries]}
    if features.min_sub_group:
        spec["minSubGroup"] = roots(entries)
    constraint = requests.gang(gang.spec.topology_constraint)
    if constraint is not None:
        spec["topologyConstraint"] = constraint
    spec.update(policy_of(installation, requested, facts, findings))
    findings.remarks.extend(no_reservations(gang, "KAI"))
    if earlier := len(tuple(pods_of_earlier_gang(gang, facts.pods))):
        findings.remarks.append(
            f"{earlier} pods belong to an earlier gang of this name, and KAI does not count them."
            " Delete them to recreate them in this gang"
        )
    if of_grove := len(tuple(pods_of_grove(gang, facts.pods))):
        findings.remarks.append(
            f"{of_grove} pods stay in the PodGroup {gang.metadata.name} that Grove made; their"
            " replacements are in that of this backend"
        )
    return spec
