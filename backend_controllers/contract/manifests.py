"""The form of every manifest that a backend renders; owner references are added when it is written."""

from shared_api.kube.resources import Resource
from shared_api.models import JsonObject


def manifest(
    resource: Resource,
    name: str,
    namespace: str | None,
    spec: JsonObject,
    *,
    labels: JsonObject | None = None,
    annotations: JsonObject | None = None,
) -> JsonObject:
    """Return an object of a kind; a namespace of None makes one without a namespace."""
    metadata: JsonObject = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    if labels is not None:
        metadata["labels"] = labels
    if annotations is not None:
        metadata["annotations"] = annotations
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "spec": spec,
    }
