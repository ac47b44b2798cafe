"""KAI's Topology objects, rendered from ClusterTopologyBindings.

One is rendered only if the binding does not refer to a Topology that an administrator manages. The
levels of a Topology are immutable, so a changed binding replaces the object. Running gangs are not
affected by that; new gangs wait for the new object. The binding's status reports whether the
Topologies have its levels.
"""

from backend_controllers.contract.declaration import Companion, Reads, Rendered, WhenRefused, Writes
from backend_controllers.contract.manifests import manifest
from backend_controllers.kai.api import BINDINGS, TOPOLOGIES, KaiTopology
from backend_controllers.kai.topology_drift import EVENT_DRIFT, EVENT_IN_SYNC, drift_status
from backend_controllers.kai.topology_levels import reference_of, usable_levels
from shared_api import names
from shared_api.models import ClusterTopologyBinding, JsonObject
from shared_api.runtime.watching.predicates import Watched


def topology_for(binding: Watched) -> tuple[Rendered, ...]:
    """Return the Topology of a binding; nothing if an administrator manages it."""
    if not isinstance(binding, ClusterTopologyBinding):
        raise TypeError(f"expected a ClusterTopologyBinding, got {binding!r}")
    if reference_of(binding) is not None:
        return ()
    spec: JsonObject = {"levels": [{"nodeLabel": key} for key in usable_levels(binding)]}
    topology = manifest(TOPOLOGIES, binding.metadata.name, None, spec)
    return (Rendered(TOPOLOGIES, topology, WhenRefused.REPLACE),)


def _levels_of(binding: Watched) -> object:
    """Return what Topologies are computed from. The status is our own report."""
    spec = binding.spec if isinstance(binding, ClusterTopologyBinding) else None
    return binding.metadata.uid, binding.metadata.deletion_timestamp, spec


COMPANION = Companion(
    source=Reads(BINDINGS, ClusterTopologyBinding, part=_levels_of),
    writes=Writes(TOPOLOGIES, KaiTopology, mirrored=False),
    translate=topology_for,
    report=drift_status,
    events={
        names.REASON_TOPOLOGY_DRIFT: EVENT_DRIFT,
        names.REASON_TOPOLOGY_IN_SYNC: EVENT_IN_SYNC,
    },
)
