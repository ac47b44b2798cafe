"""Status of a PodCliqueSet that core cannot read.

It says so and otherwise stays as it was: an apply with fewer fields would drop those that core
has written before. Only conditions and fields that core itself applies are repeated; those of
other field managers are theirs.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec
from pydantic import ValidationError

from core_operator.plan.statuses.conditions import Observation, Verdict, rendered
from core_operator.plan.statuses.reasons import Blocked, Blocking
from shared_api import names
from shared_api.kube.unreadable import Unreadable
from shared_api.models import Condition, JsonObject, PodCliqueSet

_KEPT = (
    "replicas",
    "availableReplicas",
    "updatedReplicas",
    "hpaPodSelector",
    "podGangStatuses",
    "currentGenerationHash",
)
"""What core applies beside conditions."""


def unreadable_status(value: Unreadable, now: datetime) -> JsonObject | None:
    """What core applies to a set that it cannot read; None if the set says so already."""
    found = msgspec.json.decode(value.status) if value.status else {}
    before = _conditions(found)
    blocked = Blocked(Blocking.UNREADABLE, value.explained(PodCliqueSet.KIND))
    observation = Observation(now, before, value.metadata.generation)
    verdict = Verdict(ready=False, message=blocked.message, blocked=blocked)
    said = [*verdict.conditions(observation)]
    if all(one in before for one in said) and not _is_reconciling(before):
        return None
    placed = (one for one in before if one.type == names.CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE)
    return {
        **{field: found[field] for field in _KEPT if field in found},
        "conditions": rendered([*said, *placed]),
        "observedGeneration": value.metadata.generation,
    }


def _conditions(status: Mapping[str, object]) -> tuple[Condition, ...]:
    """The conditions that can be read."""
    conditions = status.get("conditions")
    found = []
    for one in conditions if isinstance(conditions, list) else ():
        try:
            found.append(Condition.model_validate(one))
        except ValidationError:
            continue
    return tuple(found)


def _is_reconciling(conditions: tuple[Condition, ...]) -> bool:
    return any(one.type == names.CONDITION_RECONCILING for one in conditions)
