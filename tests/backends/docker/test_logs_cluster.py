"""`kubectl logs` of pods on container hosts, through the real API server."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from backend_controllers.docker import BACKEND
from backend_controllers.docker.options import DockerOptions
from backend_controllers.settings import BackendLogs, LogCertificate
from local_cluster.cluster import Cluster
from shared_api.kube.client import Client
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import NODES, PODS
from tests.backends.docker.test_gangs_cluster import running, until_released, workers
from tests.backends.kit import backend_settings, running_backend
from tests.core.kit import Onlooker, pcs, running_operator

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]


@pytest.fixture
async def logging_gang(
    core_cluster: Cluster, person: Onlooker, docker_options: DockerOptions
) -> AsyncIterator[Onlooker]:
    """A gang of one pod that writes a line, waits for five seconds, and writes another."""
    script = "echo first of $GROVE_PODGANG_SIZE; sleep 5; echo second; sleep 600"
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, backend_settings(docker_options)),
    ):
        await person.create(pcs("w", workers(1, script)))
        await person.until(lambda: running(person) == 1, 60)
        yield person
        await until_released(core_cluster, person)


async def test_kubectl_reads_the_log_and_follows_it(
    core_cluster: Cluster, logging_gang: Onlooker
) -> None:
    where = ("-n", logging_gang.namespace, _pod(logging_gang))
    found = await until_log(core_cluster, *where)
    assert found.startswith("first of 1\n")
    following = await asyncio.create_subprocess_exec(
        core_cluster.kubectl_program(),
        *("logs", "--follow", *where),
        env={**os.environ, "KUBECONFIG": str(core_cluster.kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert following.stdout is not None
    try:
        async with asyncio.timeout(60):
            assert await following.stdout.readline() == b"first of 1\n"
            assert await following.stdout.readline() == b"second\n"
    finally:
        following.terminate()
        await following.wait()
    assert await _logs(core_cluster, "--tail=1", *where) == "second\n"
    assert await _logs(core_cluster, "--limit-bytes=5", *where) == "first"


async def test_a_certificate_of_the_cluster_alone_opens_no_log(
    core_cluster: Cluster, client: Client, logging_gang: Onlooker, tmp_path: Path
) -> None:
    pod = _pod(logging_gang)
    await until_log(core_cluster, "-n", logging_gang.namespace, pod)
    host, port = await _endpoint(client)
    path = f"/containerLogs/{logging_gang.namespace}/{pod}/main"
    pki = core_cluster.directory / "pki"
    assert (await _get(host, port, path, pki / "admin")).startswith(b"HTTP/1.1 200")
    _signed_client(pki, tmp_path / "somebody")
    assert (await _get(host, port, path, tmp_path / "somebody")).startswith(b"HTTP/1.1 403")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await _get(host, port, path, None)


async def test_certificate_that_the_cluster_signs_waits_for_its_approval(
    core_cluster: Cluster, person: Onlooker, docker_options: DockerOptions
) -> None:
    settings = backend_settings(docker_options).model_copy(
        update={"logs": BackendLogs(port=0, certificate=LogCertificate.CLUSTER_SIGNED)}
    )
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND, settings),
    ):
        await person.create(pcs("w", workers(1, "echo signed; sleep 600")))
        await person.until(lambda: running(person) == 1, 60)
        kubectl = core_cluster.kubectl
        listed = await asyncio.to_thread(kubectl, "get", "csr", "-o", "name")
        (request,) = [name for name in listed.stdout.split() if "podgang-docker" in name]
        await asyncio.to_thread(kubectl, "certificate", "approve", request.split("/")[1])
        found = await until_log(core_cluster, "-n", person.namespace, _pod(person))
        assert found == "signed\n"
        await asyncio.to_thread(kubectl, "delete", request)
        await until_released(core_cluster, person)


def _pod(person: Onlooker) -> str:
    (pod,) = person.all(PODS)
    return pod.metadata.name


async def until_log(cluster: Cluster, *where: str) -> str:
    """Return the log once the node has the address of the endpoint."""
    problem = ""
    for _ in range(60):
        done = await asyncio.to_thread(cluster.kubectl, "logs", *where, check=False)
        if done.stdout:
            return done.stdout
        problem = done.stderr
        # Nothing announces that the API server has seen the address.
        await asyncio.sleep(0.5)
    raise AssertionError(f"no log: {problem}")


async def _logs(cluster: Cluster, *arguments: str) -> str:
    done = await asyncio.to_thread(cluster.kubectl, "logs", *arguments)
    return done.stdout


def _signed_client(pki: Path, pair: Path) -> None:
    """Make a certificate of the cluster for a user without rights."""
    authority = x509.load_pem_x509_certificate((pki / "ca.crt").read_bytes())
    signing = serialization.load_pem_private_key((pki / "ca.key").read_bytes(), None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody")]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(authority.not_valid_before_utc)
        .not_valid_after(authority.not_valid_after_utc)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signing, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    pair.with_suffix(".crt").write_bytes(certificate.public_bytes(pem))
    plain = serialization.NoEncryption()
    pkcs8 = serialization.PrivateFormat.PKCS8
    pair.with_suffix(".key").write_bytes(key.private_bytes(pem, pkcs8, plain))


async def _endpoint(client: Client) -> tuple[str, int]:
    node = await client.get(NODES, "docker", into=LooseObject)
    status: dict[str, Any] = node.status
    port = status["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    return status["addresses"][0]["address"], port


async def _get(host: str, port: int, path: str, pair: Path | None) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if pair is not None:
        context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
    reader, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        async with asyncio.timeout(30):
            return await reader.readuntil(b"\r\n")
    except asyncio.IncompleteReadError as error:
        raise ConnectionError(str(error)) from error
    finally:
        writer.close()
