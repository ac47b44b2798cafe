"""A gang as KAI's PodGroup.

The manifest has only what the gang requests: no field that KAI writes at run time, and none that
the installed CRD lacks. Top-level `minMember` is never set: KAI ignores it beside sub-groups and
rejects it beside `minSubGroup`. Queue and priority class are written even if they do not exist,
since they may be created later; a remark reports it. If pods of an earlier gang fill all minimums,
there may be no sub-group left, and then there is no PodGroup.
"""

import re

from backend_controllers.contract.declaration import Facts, Rendered, Translation
from backend_controllers.contract.findings import Findings
from backend_controllers.contract.manifests import manifest
from backend_controllers.contract.remarks import (
    missing_priority_class,
    no_reservations,
    unknown_groups,
)
from backend_controllers.kai.api import (
    KEY_NODE_POOL,
    KEY_PREEMPTIBILITY,
    KEY_PREEMPTION_DELAY,
    KEY_STALENESS,
    PODGROUPS,
    pod_group_name,
)
from backend_controllers.kai.installation import KaiFeatures, KaiInstallation
from backend_controllers.kai.membership import minimums, pods_of_earlier_gang
from backend_controllers.kai.queues import no_queue, queue_of
from backend_controllers.kai.subgroups import roots, sub_groups
from backend_controllers.kai.topology_levels import topology_of
from backend_controllers.kai.topology_requests import KaiTopologyRequests
from shared_api import names
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.models import JsonObject

_PREEMPTIBILITIES = ("preemptible", "non-preemptible")
_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)")


def translate(installation: KaiInstallation, gang: ObservedPodGang, facts: Facts) -> Translation:
    """Return the PodGroup of a gang, or all reasons to reject the gang."""
    findings = Findings()
    spec = _spec(installation, gang, facts, findings)
    remarks = tuple(findings.remarks)
    if findings.refusals:
        return Translation(refusals=tuple(findings.refusals), remarks=remarks)
    if not spec["subGroups"]:
        return Translation(remarks=remarks)
    return Translation(objects=(Rendered(PODGROUPS, _manifest(gang, spec)),), remarks=remarks)


def _manifest(gang: ObservedPodGang, spec: JsonObject) -> JsonObject:
    labels: JsonObject = {names.LABEL_PODGANG: gang.metadata.name}
    pool = gang.metadata.labels.get(KEY_NODE_POOL)
    if pool:
        labels[KEY_NODE_POOL] = pool
    # KAI adds its timestamps with a JSON patch from its snapshot. On an object without
    # annotations, that patch replaces the whole map.
    annotations: JsonObject = {names.LABEL_PODGANG: gang.metadata.name}
    name = pod_group_name(gang.metadata.name, gang.metadata.uid)
    namespace = gang.metadata.namespace
    return manifest(PODGROUPS, name, namespace, spec, labels=labels, annotations=annotations)


def _spec(
    installation: KaiInstallation, gang: ObservedPodGang, facts: Facts, findings: Findings
) -> JsonObject:
    features = installation.features
    queue = queue_of(installation, gang)
    if queue is None:
        findings.refusals.append(no_queue(facts))
    if not gang.spec.podgroups:
        findings.refusals.append("the gang has no groups")
    findings.remarks.extend(unknown_groups(gang))
    topology = topology_of(gang, facts) if features.topology else None
    requests = KaiTopologyRequests(features, topology, findings)
    entries = sub_groups(gang, requests, minimums(gang, facts.pods, features))
    spec: JsonObject = {"queue": queue, "subGroups": [*entries]}
    if features.min_sub_group:
        spec["minSubGroup"] = roots(entries)
    constraint = requests.gang(gang.spec.topology_constraint)
    if constraint is not None:
        spec["topologyConstraint"] = constraint
    if gang.spec.priority_class_name:
        spec["priorityClassName"] = gang.spec.priority_class_name
    findings.remarks.extend(missing_priority_class(gang, facts, "KAI"))
    spec.update(_preemptibility(gang, features, findings))
    spec.update(_delays(installation, gang, findings))
    findings.remarks.extend(no_reservations(gang, "KAI"))
    if earlier := len(tuple(pods_of_earlier_gang(gang, facts.pods))):
        findings.remarks.append(
            f"{earlier} pods belong to an earlier gang of this name, and KAI does not count them."
            " Delete them to recreate them in this gang"
        )
    return spec


def _preemptibility(gang: ObservedPodGang, features: KaiFeatures, findings: Findings) -> JsonObject:
    value = gang.metadata.labels.get(KEY_PREEMPTIBILITY)
    if not value:
        return {}
    if value not in _PREEMPTIBILITIES:
        findings.refusals.append(
            f"the label {KEY_PREEMPTIBILITY} has the invalid value '{value}'. Set it to"
            f" {' or '.join(_PREEMPTIBILITIES)}"
        )
        return {}
    if not features.preemptibility:
        findings.remarks.append(_ignored(KEY_PREEMPTIBILITY, features, "v0.10"))
        return {}
    return {"preemptibility": value}


def _delays(installation: KaiInstallation, gang: ObservedPodGang, findings: Findings) -> JsonObject:
    annotations = gang.metadata.annotations
    requested = {
        "preemptionDelay": (KEY_PREEMPTION_DELAY, annotations.get(KEY_PREEMPTION_DELAY)),
        "stalenessGracePeriod": (
            KEY_STALENESS,
            annotations.get(KEY_STALENESS) or installation.options.staleness_grace_period,
        ),
    }
    delays: JsonObject = {}
    for name, (key, value) in requested.items():
        if not value:
            continue
        if not _DURATION.fullmatch(value):
            # KAI's scheduler stops reading all PodGroups if it cannot decode one.
            findings.refusals.append(
                f"{key} has the invalid value '{value}'. Set it to a duration such as 90s or 1h30m"
            )
        elif installation.features.delays:
            delays[name] = value
        elif key in annotations:
            findings.remarks.append(_ignored(key, installation.features, "v0.17"))
    return delays


def _ignored(key: str, features: KaiFeatures, since: str) -> str:
    return (
        f"{key} is ignored: the installed KAI ({features.release}) does not have it. Upgrade KAI to"
        f" {since} or newer"
    )
