"""The headless Service that gives the pods of one replica their names in DNS.

It has no ports: a pod is reached under its own name, at whatever port it listens on.
"""

from core_operator.plan import naming
from shared_api.models import JsonObject, PodCliqueSet


def headless_service(pcs: PodCliqueSet, pcs_index: int) -> JsonObject:
    """The Service of one replica of a set."""
    name = pcs.metadata.name
    config = pcs.spec.template.headless_service_config
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": naming.service_name(name, pcs_index),
            "namespace": pcs.metadata.namespace,
            "labels": {**naming.service_labels(name, pcs_index)},
            "ownerReferences": [naming.controlled_by(pcs)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": config.publish_not_ready_addresses,
            "selector": {**naming.replica_labels(name, pcs_index)},
        },
    }
