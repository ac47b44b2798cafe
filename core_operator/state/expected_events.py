"""Which changes of pods are our own doing, so that their events are no news.

Who lifts a gate or deletes a pod knows what follows. The same done by somebody else is news:
the rest of that gang has to be released, or a pod was lost. Which is which is known only here
and now; after a restart everything is looked at anyway.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Iterator

from shared_api.kube.pods import Pod

_REMEMBERED = 20_000


class OwnDoing:
    """Pods to which we do one certain thing, until an event has shown it."""

    def __init__(self) -> None:
        self._expected: OrderedDict[str, None] = OrderedDict()

    @contextlib.contextmanager
    def to(self, pod: Pod) -> Iterator[None]:
        """Do it within this; what fails is not done, or nobody knows.

        It is expected from the beginning, since the event may be faster than the answer.
        """
        self._expected[pod.metadata.uid] = None
        if len(self._expected) > _REMEMBERED:
            self._expected.popitem(last=False)
        try:
            yield
        except BaseException:
            self._expected.pop(pod.metadata.uid, None)
            raise

    def __contains__(self, pod: Pod) -> bool:
        """Tell whether we do it to this pod, and no event has shown it."""
        return pod.metadata.uid in self._expected

    def is_ours(self, pod: Pod) -> bool:
        """Tell, once, whether it was we who did it to this pod."""
        return self._expected.pop(pod.metadata.uid, self) is None
