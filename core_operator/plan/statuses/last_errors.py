"""The field lastErrors of sets, scaling groups and PodCliques.

It has the current problem of the object and nothing else: it is written when the problem appears
and removed when the problem has ended, as conditions are. Progress is no error: a gang that waits
for capacity is only reported by conditions.
"""

from collections.abc import Sequence
from datetime import datetime

from core_operator.plan.statuses.reasons import Blocker
from shared_api.models import JsonObject, LastError
from shared_api.truncation import truncated

_DESCRIPTION_LIMIT = 1024


def last_errors(
    problem: Blocker | None, blocker: Blocker | None, before: Sequence[LastError], now: datetime
) -> JsonObject:
    """Return the field, or nothing without an error.

    `problem` kept core from writing children. Without one, a blocker that requires manual action is
    the error. The time of an error stays as long as its content does.
    """
    found = problem or (blocker if blocker is not None and blocker.stalled else None)
    if found is None:
        return {}
    description = truncated(found.message, _DESCRIPTION_LIMIT)
    content = (found.reason.value, description)
    same = next((one for one in before if (one.code, one.description) == content), None)
    error = same or LastError(
        code=found.reason.value, description=description, observed_at=now.replace(microsecond=0)
    )
    return {"lastErrors": [error.manifest()]}
