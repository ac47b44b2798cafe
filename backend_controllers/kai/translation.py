"""A gang as KAI's PodGroup.

The manifest holds what the gang asks for and nothing that KAI writes at run time, nor a
field that the installed CRD lacks. Top-level `minMember` is never set: KAI ignores it once
there are sub-groups and refuses it beside `minSubGroup`. Queue and priority class are
passed on even if they do not exist, since they may be created later; that is said, not
refused. A gang whose minimum is held by pods of an earlier gang may have nothing to ask for, and
has no PodGroup where KAI has none that asks for nothing.
"""

import re

from backend_controllers.contract.declaration import Facts, Rendered, Translation
from backend_controllers.contract.findings import Findings
from backend_controllers.kai.api import (
    KEY_NODE_POOL,
    KEY_PREEMPTIBILITY,
    KEY_PREEMPTION_DELAY,
    KEY_STALENESS,
    PODGROUPS,
    pod_group_name,
)
from backend_controllers.kai.features import Features, KaiInstallation
from backend_controllers.kai.membership import asked_of, of_earlier_gang
from backend_controllers.kai.queues import NO_QUEUE, queue_of
from backend_controllers.kai.subgroups import roots, sub_groups
from backend_controllers.kai.topology_levels import place_of
from backend_controllers.kai.topology_requests import Placing
from shared_api import names
from shared_api.kube.podgangs import PodGang
from shared_api.kube.resources import PRIORITY_CLASSES
from shared_api.models import JsonObject

_PREEMPTIBILITIES = ("preemptible", "non-preemptible")
_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)")


def translate(installation: KaiInstallation, gang: PodGang, facts: Facts) -> Translation:
    """The PodGroup of a gang, or all that stands against one."""
    findings = Findings()
    spec = _spec(installation, gang, facts, findings)
    manifest: JsonObject = {
        "apiVersion": PODGROUPS.api_version,
        "kind": PODGROUPS.kind,
        "metadata": _metadata(gang),
        "spec": spec,
    }
    remarks = tuple(findings.remarks)
    if findings.refusals:
        return Translation(refusals=tuple(findings.refusals), remarks=remarks)
    if not spec["subGroups"]:
        return Translation(remarks=remarks)
    return Translation(objects=(Rendered(PODGROUPS, manifest),), remarks=remarks)


def _metadata(gang: PodGang) -> JsonObject:
    labels: JsonObject = {names.LABEL_PODGANG: gang.metadata.name}
    pool = gang.metadata.labels.get(KEY_NODE_POOL)
    if pool:
        labels[KEY_NODE_POOL] = pool
    return {
        "name": pod_group_name(gang.metadata.name, gang.metadata.uid),
        "namespace": gang.metadata.namespace,
        "labels": labels,
        # KAI adds its timestamps with a JSON patch made from its snapshot: where there are no
        # annotations at all, that patch replaces the whole map.
        "annotations": {names.LABEL_PODGANG: gang.metadata.name},
    }


def _spec(
    installation: KaiInstallation, gang: PodGang, facts: Facts, findings: Findings
) -> JsonObject:
    features = installation.features
    queue = queue_of(gang, installation.options.default_queue)
    if queue is None:
        findings.refusals.append(NO_QUEUE)
    if not gang.spec.podgroups:
        findings.refusals.append("the gang has no groups")
    place = place_of(gang, facts) if features.topology else None
    placing = Placing(features, place, findings)
    entries = sub_groups(gang, placing, asked_of(gang, facts.pods, features))
    spec: JsonObject = {"queue": queue, "subGroups": [*entries]}
    if features.min_sub_group:
        spec["minSubGroup"] = roots(entries)
    constraint = placing.gang(gang.spec.topology_constraint)
    if constraint is not None:
        spec["topologyConstraint"] = constraint
    spec.update(_precedence(gang, facts, features, findings))
    spec.update(_delays(installation, gang, findings))
    if gang.spec.reuse_reservation_ref is not None:
        findings.remarks.append("KAI has no reservations that could be taken over")
    if earlier := len(tuple(of_earlier_gang(gang, facts.pods))):
        findings.remarks.append(
            f"{earlier} pods were made for an earlier gang of this name and are not part of this"
            " one; delete them for the gang to be whole again"
        )
    return spec


def _precedence(gang: PodGang, facts: Facts, features: Features, findings: Findings) -> JsonObject:
    precedence: JsonObject = {}
    priority = gang.spec.priority_class_name
    if priority:
        precedence["priorityClassName"] = priority
        if facts.get(PRIORITY_CLASSES, "", priority) is None:
            findings.remarks.append(
                f"PriorityClass '{priority}' does not exist: KAI takes its default priority"
            )
    preemptibility = gang.metadata.labels.get(KEY_PREEMPTIBILITY)
    if not preemptibility:
        return precedence
    if preemptibility not in _PREEMPTIBILITIES:
        findings.refusals.append(
            f"label {KEY_PREEMPTIBILITY} is '{preemptibility}':"
            f" it can be {' or '.join(_PREEMPTIBILITIES)}"
        )
    elif not features.preemptibility:
        findings.remarks.append(_too_old(KEY_PREEMPTIBILITY, features, "v0.10"))
    else:
        precedence["preemptibility"] = preemptibility
    return precedence


def _delays(installation: KaiInstallation, gang: PodGang, findings: Findings) -> JsonObject:
    annotations = gang.metadata.annotations
    asked = {
        "preemptionDelay": (KEY_PREEMPTION_DELAY, annotations.get(KEY_PREEMPTION_DELAY)),
        "stalenessGracePeriod": (
            KEY_STALENESS,
            annotations.get(KEY_STALENESS) or installation.options.staleness_grace_period,
        ),
    }
    delays: JsonObject = {}
    for name, (key, value) in asked.items():
        if not value:
            continue
        if not _DURATION.fullmatch(value):
            # KAI's scheduler stops reading all PodGroups if it cannot decode one.
            findings.refusals.append(
                f"{key} is '{value}', which is no duration such as 90s or 1h30m"
            )
        elif installation.features.delays:
            delays[name] = value
        elif key in annotations:
            findings.remarks.append(_too_old(key, installation.features, "v0.17"))
    return delays


def _too_old(key: str, features: Features, since: str) -> str:
    return f"{key} is ignored by the installed KAI ({features.release}): it came with {since}"
