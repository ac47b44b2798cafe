"""A service account whose token is rotated: the client goes on without a refused request."""

import asyncio
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import ControlPlane
from shared_api.kube import access
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import Forbidden, Unauthorized
from shared_api.kube.resources import CONFIGMAPS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, Resource
from tests.kube.cluster_access import Json, config_map, new_namespace

pytestmark = pytest.mark.cluster

SECRETS = Resource("", "v1", "secrets", "Secret")
RBAC = "rbac.authorization.k8s.io/v1"


@pytest.fixture
def server(control_plane: ControlPlane) -> Cluster:
    return control_plane("1.36")


async def make_account(admin: Client, space: str) -> None:
    """An account that may read config maps, and nothing else."""
    meta = {"name": "reader", "namespace": space}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
    subject = {"kind": "ServiceAccount", **meta}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    for resource, manifest in (
        (SERVICE_ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount"}),
        (ROLES, {"apiVersion": RBAC, "kind": "Role", "rules": rules}),
        (ROLE_BINDINGS, {"apiVersion": RBAC, "kind": "RoleBinding", "subjects": [subject], "roleRef": role}),
        (CONFIGMAPS, config_map(space, "reader", x="1")),
    ):  # fmt: skip
        await admin.apply(resource, {**manifest, "metadata": meta}, field_manager="test")


async def new_token(admin: Client, space: str, bound_to: str) -> str:
    """A token of ten minutes that ends earlier if its Secret is deleted."""
    secret: Json = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": bound_to, "namespace": space},
    }
    made = await admin.apply(SECRETS, secret, field_manager="test")
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": "reader", "namespace": space},
        "spec": {
            "expirationSeconds": 600,
            "boundObjectRef": {
                "apiVersion": "v1",
                "kind": "Secret",
                "name": bound_to,
                "uid": made.metadata.uid,
            },
        },
    }
    answer = await admin.create(
        SERVICE_ACCOUNTS, request, field_manager="test", subresource="token", into=LooseObject
    )
    return str(answer.status["token"])


async def revoke(admin: Client, space: str, bound_to: str) -> None:
    secret = await admin.get(SECRETS, bound_to, space, into=PartialObject)
    await admin.delete(SECRETS, bound_to, space, uid=secret.metadata.uid)


async def become_a_pod(cluster: Cluster, directory: Path, patch: pytest.MonkeyPatch) -> None:
    """Lay out what a pod finds: the address in variables, CA and token in a directory."""
    entry = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    address = urlsplit(entry["server"])
    patch.setenv("KUBERNETES_SERVICE_HOST", str(address.hostname))
    patch.setenv("KUBERNETES_SERVICE_PORT", str(address.port))
    patch.setenv(access.SERVICE_ACCOUNT_DIR_ENV, str(directory))
    trusted = access.from_kubeconfig(cluster.kubeconfig)
    await trusted.open()
    assert trusted.tls is not None
    authority = trusted.tls.get_ca_certs(binary_form=True)[0]
    (directory / "ca.crt").write_text(ssl.DER_cert_to_PEM_cert(authority))


async def test_a_rotated_token_is_taken_up_without_a_failed_request(
    server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await become_a_pod(server, tmp_path, monkeypatch)
    token = tmp_path / "token"
    async with Client.from_kubeconfig(server.kubeconfig) as admin:
        space = await new_namespace(admin)
        await make_account(admin, space)
        first, second = [await new_token(admin, space, name) for name in ("first", "second")]
        token.write_text(first)
        source = access.from_environment()
        async with Client(source) as client:
            await client.get(CONFIGMAPS, "reader", space, into=PartialObject)
            token.write_text(second)
            await revoke(admin, space, "first")
            async with asyncio.timeout(40):
                # The server remembers a good token for some seconds.
                while source.authorization == f"Bearer {first}":
                    await client.get(CONFIGMAPS, "reader", space, into=PartialObject)
                    await asyncio.sleep(0.2)
            await client.get(CONFIGMAPS, "reader", space, into=PartialObject)
            assert source.authorization == f"Bearer {second}"
            with pytest.raises(Forbidden):
                await client.get(SECRETS, "second", space, into=PartialObject)


async def test_a_token_that_was_never_good_is_reported_as_refused(
    server: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await become_a_pod(server, tmp_path, monkeypatch)
    (tmp_path / "token").write_text("nonsense")
    async with Client.from_environment() as client:
        with pytest.raises(Unauthorized):
            await client.get(CONFIGMAPS, "a", "default", into=PartialObject)
