"""The dialect of a backend with a far side: it reads and writes the same kinds for all of them. Pure.

There is nothing to discover in the cluster but our own RemoteGang, so there is one dialect. Pods get
a schedulerName that no scheduler has: the backend binds them to its virtual node.
"""

from backend_controllers.contract.cliques import CLIQUES
from backend_controllers.contract.declaration import Dialect, Reads, Writes, gang_of_clique
from backend_controllers.contract.remote.api import REMOTE_GANGS, ObservedRemoteGang, RemoteClique
from backend_controllers.contract.remote.preparation import preparation
from backend_controllers.contract.remote.translation import RemoteTranslator


def remote_dialect(
    name: str, capabilities: frozenset[str], scheduler_name: str, translator: RemoteTranslator
) -> Dialect:
    """Return the dialect whose pods have this schedulerName."""
    return Dialect(
        name=name,
        capabilities=capabilities,
        preparation=preparation(scheduler_name),
        translate=translator.translate,
        mirror=translator.mirror,
        writes=(Writes(REMOTE_GANGS, ObservedRemoteGang, translated=True),),
        reads=(Reads(CLIQUES, RemoteClique, about=gang_of_clique),),
        follows_pods=True,
    )
