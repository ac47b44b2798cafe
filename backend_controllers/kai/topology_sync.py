"""KAI's Topology objects, rendered from ClusterTopologyBindings.

One is rendered only if the binding does not refer to a Topology that an administrator manages. The
levels of a Topology are immutable, so a changed binding replaces the object. Running gangs are not
affected by that; new gangs wait for the new object.
"""

from backend_controllers.contract.declaration import Companion, Reads, Rendered, WhenRefused, Writes
from backend_controllers.contract.manifests import manifest
from backend_controllers.kai.api import BINDINGS, TOPOLOGIES, KaiTopology
from backend_controllers.kai.topology_levels import reference_of, usable_levels
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


COMPANION = Companion(
    source=Reads(BINDINGS, ClusterTopologyBinding),
    writes=Writes(TOPOLOGIES, KaiTopology, mirrored=False),
    translate=topology_for,
)
