"""Expected events: pods that this process is changing or has changed itself.

A pod that we ungate or delete causes an event that needs no reaction. The same event caused by
another client does: the rest of the gang must be ungated, or a pod was lost. This is known only in
this process; after a restart everything is reconciled anyway.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Iterator

from shared_api.kube.pods import Pod

_REMEMBERED = 20_000


class ExpectedEvents:
    """The pods to which this process does one kind of write, such as a deletion.

    A pod stays here after its event, which cannot happen twice; the oldest are dropped.
    """

    def __init__(self) -> None:
        self._uids: OrderedDict[str, None] = OrderedDict()

    @contextlib.contextmanager
    def expect(self, pod: Pod) -> Iterator[None]:
        """Expect the event of the write in this block; a write that fails is not expected.

        The event may arrive before the answer, so it is expected from the beginning.
        """
        self._uids[pod.metadata.uid] = None
        if len(self._uids) > _REMEMBERED:
            self._uids.popitem(last=False)
        try:
            yield
        except BaseException:
            self._uids.pop(pod.metadata.uid, None)
            raise

    def __contains__(self, pod: Pod) -> bool:
        """Tell whether this process does the write, or has done it."""
        return pod.metadata.uid in self._uids
