"""What a pod of a clique asks for, as its scheduler will count it.

The init container that core adds to pods which start after others counts too: a placeholder
smaller than its pod is of no use.
"""

import msgspec

from backend_controllers.yunikorn.api import ObservedClique, Template
from shared_api import names
from shared_api.kube import pod_resources as requests
from shared_api.kube.quantities import written

_WAITS = requests.Container(resources=requests.Resources(requests=dict(names.STARTUP_REQUESTS)))


def requests_of(clique: ObservedClique) -> dict[str, str]:
    """What each pod of a clique asks for, by resource; NoQuantityError if a text is none."""
    sums = requests.requests_of(_as_made(clique))
    return {name: written(sums[name]) for name in sorted(sums)}


def _as_made(clique: ObservedClique) -> Template:
    template = clique.spec.pod_spec
    every = (*template.containers, *template.init_containers)
    if not clique.spec.starts_after or all(one.resources == requests.Resources() for one in every):
        return template
    return msgspec.structs.replace(template, init_containers=(*template.init_containers, _WAITS))
