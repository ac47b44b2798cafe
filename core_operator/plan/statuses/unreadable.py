"""Status of a PodCliqueSet that core cannot read.

Its conditions report that; all other fields of core stay, because an apply without them would
remove them. Fields of other field managers are not repeated.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec
from pydantic import ValidationError

from core_operator.plan.statuses.conditions import Availability, Observation, rendered
from core_operator.plan.statuses.last_errors import last_errors
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
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
"""The fields that core applies besides conditions."""


def unreadable_status(value: Unreadable, now: datetime) -> JsonObject | None:
    """Return what core applies to a set that it cannot read; None if nothing changes."""
    found = msgspec.json.decode(value.status) if value.status else {}
    before = _conditions(found)
    blocker = Blocker(BlockingReason.UNREADABLE, value.explained(PodCliqueSet.KIND))
    observation = Observation(now, before, value.metadata.generation)
    verdict = Availability(ready=False, message=blocker.message, blocker=blocker)
    conditions = verdict.conditions(observation)
    if all(one in before for one in conditions) and not _is_reconciling(before):
        return None
    topology = (one for one in before if one.type == names.CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE)
    return {
        **{field: found[field] for field in _KEPT if field in found},
        "conditions": rendered([*conditions, *topology]),
        "observedGeneration": value.metadata.generation,
        **last_errors(blocker, None, (), now),
    }


def _conditions(status: Mapping[str, object]) -> tuple[Condition, ...]:
    """Return the conditions that can be read."""
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
