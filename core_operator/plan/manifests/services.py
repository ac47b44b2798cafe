"""The headless Service by which the pods of one replica have DNS names; it needs no ports."""

from core_operator.plan.layout import naming
from shared_api.models import JsonObject, PodCliqueSet


def headless_service(pcs: PodCliqueSet, pcs_index: int) -> JsonObject:
    """Return the Service of one replica of a set."""
    name = pcs.metadata.name
    config = pcs.spec.template.headless_service_config
    return naming.with_protection(
        pcs,
        {
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
        },
    )
