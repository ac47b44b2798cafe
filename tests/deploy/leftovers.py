"""Everything that is stored in a cluster, by kind and name, to see what an uninstall leaves."""

import json

from local_cluster.cluster import Cluster

Inventory = frozenset[tuple[str, str, str]]

_PASSING = {"Event", "Lease"}
"""Events expire by themselves; Leases of nodes and of the control plane come and go."""
_FOREIGN = {"kube-system", "kube-public", "kube-node-lease"}


def inventory(cluster: Cluster) -> Inventory:
    """Kind, namespace and name of all objects but those that come and go by themselves."""
    kinds = cluster.kubectl("api-resources", "--verbs=list", "-oname").stdout.split()
    text = cluster.kubectl("get", ",".join(kinds), "--all-namespaces", "-ojson").stdout
    found = (
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
        for item in json.loads(text)["items"]
    )
    return frozenset(
        entry for entry in found if entry[0] not in _PASSING and entry[1] not in _FOREIGN
    )
