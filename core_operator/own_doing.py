"""Which changes of pods are our own doing, so that their events are no news.

Who lifts a gate or deletes a pod knows what follows. The same done by somebody else is news:
the rest of that gang has to be released, or a pod was lost. Which is which is known only here
and now; after a restart everything is looked at anyway.
"""

from collections import OrderedDict

from shared_api.kube.pods import Pod

_REMEMBERED = 20_000


class OwnDoing:
    """Pods to which we do one certain thing, until an event has shown it."""

    def __init__(self) -> None:
        self._expected: OrderedDict[str, None] = OrderedDict()

    def expect(self, pod: Pod) -> None:
        """Be told before it is done: the event may be faster than the answer."""
        self._expected[pod.metadata.uid] = None
        if len(self._expected) > _REMEMBERED:
            self._expected.popitem(last=False)

    def failed(self, pod: Pod) -> None:
        """Be told that it was not done after all, or that nobody knows."""
        self._expected.pop(pod.metadata.uid, None)

    def is_ours(self, pod: Pod) -> bool:
        """Tell, once, whether it was we who did it to this pod."""
        return self._expected.pop(pod.metadata.uid, self) is None
