"""Who may read logs at the kubelet endpoint: the same callers as at a kubelet.

A caller proves who it is by a certificate of the cluster's authority for clients. The API server is
asked whether that user may reach the node, as kubelets ask it. So a certificate of the cluster alone
opens no log.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from shared_api.kube.client import Client
from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import CONFIGMAPS
from shared_api.runtime.serving.reviews import SUBJECT_ACCESS_REVIEWS

_AUTHENTICATION = ("kube-system", "extension-apiserver-authentication")
_AUTHORITY = "client-ca-file"


class _Authentication(msgspec.Struct, frozen=True):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    data: Mapping[str, str] = {}


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    denied: bool = False


class _AccessReview(msgspec.Struct, frozen=True):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: _AccessStatus = _AccessStatus()


async def client_authority(client: Client) -> str:
    """Return the certificates that sign clients of this cluster; empty if it names none."""
    namespace, name = _AUTHENTICATION
    found = await client.get(CONFIGMAPS, namespace=namespace, name=name, into=_Authentication)
    return found.data.get(_AUTHORITY, "")


async def may_read(
    client: Client, field_manager: str, certificate: Mapping[str, Any] | None, node: str
) -> bool:
    """Tell whether the holder of a verified certificate may read logs of a node."""
    user, groups = _identity(certificate or {})
    if not user:
        return False
    review = {
        "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SUBJECT_ACCESS_REVIEWS.kind,
        "metadata": {},
        "spec": {
            "user": user,
            "groups": [*groups, "system:authenticated"],
            "resourceAttributes": {
                "verb": "get",
                "resource": "nodes",
                "subresource": "proxy",
                "name": node,
            },
        },
    }
    answer = await client.create(
        SUBJECT_ACCESS_REVIEWS, review, field_manager=field_manager, into=_AccessReview
    )
    return answer.status.allowed and not answer.status.denied


def _identity(certificate: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return user and groups of a certificate, as `ssl` shows it."""
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    users = [value for name, value in pairs if name == "commonName"]
    groups = [value for name, value in pairs if name == "organizationName"]
    return (users[0] if users else ""), groups
