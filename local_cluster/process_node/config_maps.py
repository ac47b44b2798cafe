"""All ConfigMaps of the cluster, kept current by one watch.

A laptop's cluster has few of them, and one watch is simpler than one per reference. Listeners
are notified of a change and read the new content themselves.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from local_cluster.api import Api, Object
from local_cluster.process_node.reflector import Reflector

Listener = Callable[[], None]


class ConfigMaps:
    """The ConfigMaps by namespace and name."""

    def __init__(self, api: Api) -> None:
        self._found: dict[str, dict[str, Object]] = defaultdict(dict)
        self._listeners: dict[str, list[Listener]] = defaultdict(list)
        self.reflector = Reflector(api, "/api/v1/configmaps", self._changed)

    def of(self, namespace: str) -> Mapping[str, Object]:
        """The ConfigMaps of a namespace by name."""
        return self._found[namespace]

    @contextmanager
    def listening(self, namespace: str, listener: Listener) -> Iterator[None]:
        """Call `listener` after each change in the namespace."""
        self._listeners[namespace].append(listener)
        try:
            yield
        finally:
            self._listeners[namespace].remove(listener)

    def _changed(self, kind: str, item: Object) -> None:
        namespace, name = item["metadata"]["namespace"], item["metadata"]["name"]
        if kind == "DELETED":
            held = self._found[namespace].get(name)
            # A successor of the same name may have come first.
            if held is not None and held["metadata"]["uid"] == item["metadata"]["uid"]:
                del self._found[namespace][name]
        else:
            self._found[namespace][name] = item
        for listener in self._listeners[namespace]:
            listener()
