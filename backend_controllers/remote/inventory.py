"""Publishes the hosts of a far side as the BackendInventory of this instance.

Hosts are counted by shape, as nodes are. A host that cannot be reached is not counted. Changes of hosts
are not announced, so they are compared once a minute; at rest nothing is written.
"""

from collections.abc import Iterator

from backend_controllers.contract.inventory_rows import Allocatable, ObservedNode
from backend_controllers.contract.remote.executor import Executor, HostOffer
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.inventory import INTERVAL, InventoryPublisher
from backend_controllers.remote.virtual_node import quantity
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.models import BackendInventory
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import Cache


class HostInventory:
    """The inventory of one instance."""

    def __init__(
        self,
        context: BackendContext,
        executor: Executor,
        inventories: Cache[Applied[BackendInventory]],
        applier: Applier,
    ) -> None:
        hosts = HostsAsNodes(executor)
        self._publisher = InventoryPublisher(context, hosts, inventories, applier)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Write the rows if they changed, and look again later."""
        return await self._publisher.reconcile(key) or Result(requeue_after=INTERVAL)


class HostsAsNodes:
    """The hosts as they are now, in the form in which nodes are counted."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def __iter__(self) -> Iterator[ObservedNode]:
        return (_node(host) for host in self._executor.hosts() if host.total and not host.problem)


def _node(host: HostOffer) -> ObservedNode:
    amounts = {name: quantity(name, amount) for name, amount in host.total.items()}
    metadata = Metadata(name=host.name, labels=dict(host.labels))
    is_unused = all(host.free.get(name, 0) >= amount for name, amount in host.total.items())
    return ObservedNode(metadata, status=Allocatable(amounts), is_unused=is_unused)
