"""What users set for KAI by labels and annotations, beside the queue.

KAI reads them from the objects that its podgrouper knows; here they become fields and labels of the
PodGroup. An invalid value rejects the gang: KAI would ignore it, or stop reading all PodGroups. A
field that the installed CRD lacks is left out, with a remark. The label `priorityClassName`
overrides the field of the PodCliqueSet, as in KAI's podgrouper.
"""

import re
from collections.abc import Iterator

from backend_controllers.contract.declaration import Facts
from backend_controllers.contract.findings import Findings
from backend_controllers.contract.label_values import ALLOWED, is_label_value
from backend_controllers.contract.remarks import missing_priority_class
from backend_controllers.contract.requested_values import RequestedValues
from backend_controllers.kai.api import (
    KEY_NODE_POOL,
    KEY_PREEMPTIBILITY,
    KEY_PREEMPTION_DELAY,
    KEY_PRIORITY_CLASS,
    KEY_QUEUE,
    KEY_STALENESS,
    KEYS_OF_KAI,
)
from backend_controllers.kai.installation import KaiFeatures, KaiInstallation
from shared_api import names
from shared_api.models import JsonObject

USER_KEYS = (
    KEY_QUEUE,
    KEY_PRIORITY_CLASS,
    KEY_PREEMPTIBILITY,
    KEY_NODE_POOL,
    KEY_PREEMPTION_DELAY,
    KEY_STALENESS,
)
"""The keys that users set on a PodCliqueSet or on its cliques."""

_PREEMPTIBILITIES = ("preemptible", "non-preemptible")
_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)")


def contradictions(requested: RequestedValues) -> Iterator[str]:
    """Yield a message for each key that has different values on the set and on its cliques."""
    yield from filter(None, map(requested.contradiction, USER_KEYS))


def policy_of(
    installation: KaiInstallation, requested: RequestedValues, facts: Facts, findings: Findings
) -> JsonObject:
    """Return the fields of the PodGroup for priority, preemptibility and delays."""
    spec: JsonObject = {}
    priority_class = _priority_class(requested, findings)
    if priority_class:
        spec["priorityClassName"] = priority_class
        findings.remarks.extend(missing_priority_class(priority_class, facts, "KAI"))
    spec.update(_preemptibility(requested, installation.features, findings))
    spec.update(_delays(installation, requested, findings))
    return spec


def labels_of(requested: RequestedValues, queue: str | None, findings: Findings) -> JsonObject:
    """Return the labels of the PodGroup: those of the gang, and KAI's own.

    KAI's keys are not inherited like others: one that is copied by accident, such as the node pool,
    would hide the PodGroup from its scheduler.
    """
    inherited = requested.gang.metadata.labels
    labels: JsonObject = {
        key: value for key, value in inherited.items() if not key.startswith(KEYS_OF_KAI)
    }
    labels[names.LABEL_PODGANG] = requested.gang.metadata.name
    if queue and is_label_value(queue):
        labels[KEY_QUEUE] = queue
    pool = requested.value(KEY_NODE_POOL)
    if pool and is_label_value(pool):
        labels[KEY_NODE_POOL] = pool
    elif pool:
        findings.refusals.append(
            f"{KEY_NODE_POOL} has the invalid value '{pool}': KAI uses it as a label value. Use"
            f" {ALLOWED}"
        )
    return labels


def _priority_class(requested: RequestedValues, findings: Findings) -> str | None:
    field, label = requested.gang.spec.priority_class_name, requested.value(KEY_PRIORITY_CLASS)
    if field and label and field != label:
        findings.remarks.append(
            f"the priorityClassName '{field}' of the PodCliqueSet's template is not applied: the"
            f" label {KEY_PRIORITY_CLASS} is '{label}'. Remove one of the two"
        )
    return label or field


def _preemptibility(
    requested: RequestedValues, features: KaiFeatures, findings: Findings
) -> JsonObject:
    value = requested.value(KEY_PREEMPTIBILITY)
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


def _delays(
    installation: KaiInstallation, requested: RequestedValues, findings: Findings
) -> JsonObject:
    default = installation.options.staleness_grace_period
    stated = {key: requested.value(key) for key in (KEY_PREEMPTION_DELAY, KEY_STALENESS)}
    values = {
        "preemptionDelay": (KEY_PREEMPTION_DELAY, stated[KEY_PREEMPTION_DELAY]),
        "stalenessGracePeriod": (KEY_STALENESS, stated[KEY_STALENESS] or default),
    }
    delays: JsonObject = {}
    for name, (key, value) in values.items():
        if not value:
            continue
        if not _DURATION.fullmatch(value):
            # KAI's scheduler stops reading all PodGroups if it cannot decode one.
            findings.refusals.append(
                f"{key} has the invalid value '{value}'. Set it to a duration such as 90s or 1h30m"
            )
        elif installation.features.delays:
            delays[name] = value
        elif stated[key]:
            findings.remarks.append(_ignored(key, installation.features, "v0.17"))
    return delays


def _ignored(key: str, features: KaiFeatures, since: str) -> str:
    return (
        f"{key} is ignored: the installed KAI ({features.release}) does not have it. Upgrade KAI to"
        f" {since} or newer"
    )
