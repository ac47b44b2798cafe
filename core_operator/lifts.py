"""Gates that we lift ourselves, so that nobody is woken to find out about it.

A gang's own reconciler lifts its gates and knows what follows; the event that shows it is no
news. A gate that somebody else lifted is: the rest of that gang has to be released. Which is
which is known only here and now; after a restart every gang is looked at anyway.
"""

from collections import OrderedDict

from shared_api.kube.pods import Pod

_REMEMBERED = 20_000


class Lifts:
    """Pods whose gate we lift, until an event has shown it."""

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
        """Tell, once, whether it was we who changed the gates of this pod."""
        return self._expected.pop(pod.metadata.uid, self) is None
