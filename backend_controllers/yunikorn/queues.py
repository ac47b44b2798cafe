"""Whether the name of a queue is valid. YuniKorn's configuration cannot be read.

YuniKorn sets the queue's name on placeholders as a label. With an invalid label value it could not
create them, and it would schedule the gang pod by pod without a message. So such a name rejects
the gang.
"""

import re

from backend_controllers.contract.label_values import ALLOWED, is_label_value
from backend_controllers.yunikorn.api import KEY_QUEUE

_PART = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROOT = "root"


def queue_problem(queue: str) -> str | None:
    """Return why no gang can use a queue of this name; None if one can."""
    if not is_label_value(queue):
        return (
            f"{KEY_QUEUE} has the invalid value '{queue}': YuniKorn uses it as a label value. Use"
            f" {ALLOWED}"
        )
    if not all(_PART.fullmatch(part) for part in queue.split(".")):
        return (
            f"{KEY_QUEUE} has the invalid value '{queue}'. Use letters, digits, '-' and '_' between"
            " the dots"
        )
    if queue == _ROOT:
        return (
            f"{KEY_QUEUE} is '{_ROOT}', which has child queues and accepts no gangs itself. Set a"
            " queue below it"
        )
    return None
