"""Ways into a real API server for the client's tests: namespaces, and a proxy on the way."""

import contextlib
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from local_cluster.cluster import Cluster
from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.resources import NAMESPACES
from tests.faults.proxy import Proxy

Json = dict[str, Any]


async def new_namespace(client: Client) -> str:
    """A namespace that nobody else uses; it ends with the cluster."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.create(NAMESPACES, manifest, field_manager="test", into=PartialObject)
    return name


def config_map(namespace: str, name: str, **data: str) -> Json:
    """A small object to write."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@contextlib.asynccontextmanager
async def through_proxy(
    cluster: Cluster, directory: Path
) -> AsyncGenerator[tuple[Proxy, Client], None]:
    """A client whose connections pass a proxy that can hold them back."""
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    entry = config["clusters"][0]["cluster"]
    server = urlsplit(entry["server"])
    assert server.hostname is not None
    assert server.port is not None
    async with Proxy(server.hostname, server.port) as proxy:
        entry["server"] = f"https://127.0.0.1:{proxy.port}"
        path = directory / "proxied-kubeconfig"
        path.write_text(yaml.safe_dump(config))
        async with Client.from_kubeconfig(path) as client:
            yield proxy, client
