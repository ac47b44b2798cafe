"""The inventory controller: publishes the machines of this instance as its BackendInventory.

It writes only when the rows change, and at most once a minute: nodes come in bursts, and a
placement does not depend on the last one. At rest it writes nothing.
"""

from collections.abc import Iterable, Mapping

from backend_controllers.contract.inventory_rows import ObservedNode, kind_of, rows_of
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.kinds import INVENTORIES
from shared_api.kube.metadata import ObjectKey
from shared_api.models import BackendInventory, BackendInventorySpec, ObjectMeta
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.queueing.debounce import MinimumInterval
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.predicates import Predicate

INTERVAL = 60.0
"""Seconds between two writes."""
GATHER = 2.0
"""Seconds between the first change of a node and a write, so that a burst is one write."""


class InventoryPublisher:
    """The inventory of one instance."""

    def __init__(
        self,
        context: BackendContext,
        nodes: Iterable[ObservedNode],
        inventories: Cache[Applied[BackendInventory]],
        applier: Applier,
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._target = Target(INVENTORIES, inventories)
        self._applier = applier
        self._interval: MinimumInterval[ObjectKey] = MinimumInterval(context.clock)

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Write the rows, if they differ from those that are published."""
        rows, omitted = rows_of(self._nodes, self._context.settings.inventory.node_selector)
        observed = self._target.cache.get(key)
        published = observed.object.spec if observed is not None else None
        if published is not None and (published.rows, published.omitted or 0) == (rows, omitted):
            return None
        if (wait := self._interval.remaining(key, INTERVAL)) > 0:
            return Result(requeue_after=wait)
        more: dict[str, object] = {"omitted": omitted} if omitted else {}
        spec = BackendInventorySpec.model_validate(
            {"observedAt": self._context.now(), "rows": rows, **more}
        )
        manifest = BackendInventory(metadata=ObjectMeta(name=key.name), spec=spec).manifest()
        await self._applier.apply(self._target, manifest, Behalf(key, force=True))
        self._interval.start(key)
        return None


def counts_differently(selector: Mapping[str, str]) -> Predicate[ObservedNode]:
    """Return whether a node is counted in another row than before."""

    def differs(old: ObservedNode | None, new: ObservedNode | None) -> bool:
        kinds = (None if node is None else kind_of(node, selector) for node in (old, new))
        before, after = kinds
        return before != after

    return differs
