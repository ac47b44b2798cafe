"""KAI's Topology, kept in step with a ClusterTopologyBinding.

Made only where the binding does not refer to a Topology that an administrator keeps. The
levels of a Topology cannot be changed, so a changed binding means a new object; gangs that
run are not disturbed by that, and new ones wait for it.
"""

from backend_controllers.contract.declaration import Companion, Reads, Rendered, WhenRefused, Writes
from backend_controllers.kai.api import BINDINGS, TOPOLOGIES, ObservedTopology
from backend_controllers.kai.topology_levels import reference_of, usable_levels
from shared_api.models import ClusterTopologyBinding, JsonObject
from shared_api.runtime.watching.predicates import Watched


def topology_for(binding: Watched) -> tuple[Rendered, ...]:
    """The Topology with the levels of a binding, unless somebody else keeps one."""
    if not isinstance(binding, ClusterTopologyBinding):
        raise TypeError(f"a Topology is made from a ClusterTopologyBinding, not from {binding!r}")
    if reference_of(binding) is not None:
        return ()
    manifest: JsonObject = {
        "apiVersion": TOPOLOGIES.api_version,
        "kind": TOPOLOGIES.kind,
        "metadata": {"name": binding.metadata.name},
        "spec": {"levels": [{"nodeLabel": key} for key in usable_levels(binding)]},
    }
    return (Rendered(TOPOLOGIES, manifest, WhenRefused.REPLACE),)


COMPANION = Companion(
    source=Reads(BINDINGS, ClusterTopologyBinding),
    writes=Writes(TOPOLOGIES, ObservedTopology, news=False),
    translate=topology_for,
)
