"""The queue that a gang names, and lists of queues in messages; the same for every scheduler."""

from collections.abc import Sequence

from shared_api.kube.podgangs import ObservedPodGang

_LISTED = 8


def named_queue(gang: ObservedPodGang, *keys: str) -> str | None:
    """Return the queue that a gang names: by a label first, then by an annotation."""
    labels, annotations = gang.metadata.labels, gang.metadata.annotations
    named = (*(labels.get(key) for key in keys), *(annotations.get(key) for key in keys))
    return next(filter(None, named), None)


def listed(names: Sequence[str]) -> str:
    """Return the first few names for a message, and how many more there are."""
    shown = ", ".join(names[:_LISTED])
    more = len(names) - _LISTED
    return f"{shown} and {more} more" if more > 0 else shown
