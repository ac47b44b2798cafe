"""The queue of a gang, as far as it can be judged without YuniKorn's configuration.

YuniKorn puts the queue's name on placeholders as a label. A name that is no label value would
make their creation fail, and the gang would then be scheduled pod by pod without a word; so
such a name is refused here.
"""

import re

from backend_controllers.contract.queues import named_queue
from backend_controllers.yunikorn.api import KEY_QUEUE
from shared_api.kube.podgangs import PodGang

_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_PART = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROOT = "root"


def queue_of(gang: PodGang, default: str | None) -> str | None:
    """The queue that the gang names, or the one of those that name none."""
    return named_queue(gang, KEY_QUEUE) or default


def flaw_of(queue: str) -> str | None:
    """Why no gang can be in a queue of this name."""
    parts = queue.split(".")
    if not _LABEL.fullmatch(queue):
        why = "YuniKorn puts it on pods as a label, which has at most 63 letters, digits, '-', '_' and '.'"
    elif not all(_PART.fullmatch(part) for part in parts):
        why = "between its dots there are letters, digits, '-' and '_'"
    elif queue == _ROOT:
        why = f"'{_ROOT}' has other queues below it and takes no gangs itself"
    else:
        return None
    return f"{KEY_QUEUE} is '{queue}': {why}"
