"""The requests of a clique's pods, as YuniKorn counts them.

The init container that core adds to pods that start after others counts, too: a placeholder that
is smaller than its pod is useless.
"""

import msgspec

from backend_controllers.yunikorn.api import YunikornClique
from shared_api import names
from shared_api.kube import pod_resources as requests
from shared_api.kube.quantities import written

_STARTUP_WAIT = requests.ContainerResources(
    resources=requests.Resources(requests=dict(names.STARTUP_REQUESTS))
)


def requests_of(clique: YunikornClique) -> dict[str, str]:
    """Return the requests of each pod by resource. Raise NoQuantityError if one is invalid."""
    template = clique.spec.pod_spec
    containers = (*template.containers, *template.init_containers)
    has_resources = any(one.resources != requests.Resources() for one in containers)
    if clique.spec.starts_after and has_resources:
        init_containers = (*template.init_containers, _STARTUP_WAIT)
        template = msgspec.structs.replace(template, init_containers=init_containers)
    sums = requests.requests_of(template)
    return {name: written(sums[name]) for name in sorted(sums)}
