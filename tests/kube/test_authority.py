"""A CA file that is replaced while the process runs: new connections trust the new CA."""

import asyncio
import contextlib
import ipaddress
import ssl
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shared_api.kube.access import Access, from_kubeconfig
from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import ConfigError, ConnectionLost
from shared_api.kube.http.aiohttp_fallback import Proxied
from shared_api.kube.http.pool import ConnectionLimits, Wire
from shared_api.kube.resources import CONFIGMAPS
from shared_api.kube.retry import RetryPolicy
from tests.faults.clients import Pauses, write_kubeconfig

BODY = b'{"metadata":{"name":"a"}}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


class Server:
    """A TLS server whose certificate is its own CA, replaced by `rotate`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.connections = 0
        self.port = 0

    def rotate(self, name: str) -> bytes:
        """Serve a new certificate to new connections; return the CA that signs it."""
        pem, key = _certificate(name)
        path = self.directory / "server.pem"
        path.write_bytes(pem + key)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(path)
        return pem

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncGenerator[None, None]:
        outer = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Called for every handshake, with a server name or without.
        outer.sni_callback = lambda tls, *_: setattr(tls, "context", self.context)
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=outer) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(ANSWER)
        writer.close()


def _certificate(name: str) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


@contextlib.asynccontextmanager
async def trusting(directory: Path) -> AsyncGenerator[tuple[Server, Path, Access], None]:
    """A server, the CA file that a client trusts, and that client's access."""
    server = Server(directory)
    authority = directory / "ca.crt"
    authority.write_bytes(server.rotate("first"))
    async with server.listening():
        address = f"https://127.0.0.1:{server.port}"
        cluster: dict[str, object] = {"certificate-authority": str(authority)}
        yield (
            server,
            authority,
            from_kubeconfig(write_kubeconfig(directory, address, None, **cluster)),
        )


def replace(path: Path, content: bytes) -> None:
    """Replace a file as the kubelet does: by another one of that name."""
    other = path.with_suffix(".new")
    other.write_bytes(content)
    other.replace(path)


async def get(client: Client) -> str:
    return (await client.get(CONFIGMAPS, "a", "b", into=PartialObject)).metadata.name


async def test_a_new_ca_is_trusted_without_a_restart(tmp_path: Path) -> None:
    async with (
        trusting(tmp_path) as (server, authority, access),
        Client(access, retry=RetryPolicy(sleep=Pauses(), attempts=1)) as client,
    ):
        assert await get(client) == "a"
        second = server.rotate("second")
        assert await get(client) == "a"
        assert server.connections == 1, "an open connection goes on"
        client._transport._way.forget()
        with pytest.raises(ConnectionLost, match="certificate"):
            await get(client)
        replace(authority, second)
        assert await get(client) == "a"


@pytest.mark.parametrize("way", [Wire, Proxied])
async def test_requests_and_streams_trust_the_new_ca_on_either_way(
    tmp_path: Path, way: type[Wire | Proxied]
) -> None:
    async with trusting(tmp_path) as (server, authority, access):
        await access.open()
        opened = way(access, "test", ConnectionLimits(keep_alive=0.0))
        try:
            await opened.exchange("GET", "/", {}, None)
            replace(authority, server.rotate("second"))
            assert (await opened.exchange("GET", "/", {}, None)).body == BODY
            replace(authority, server.rotate("third"))
            stream = await opened.stream("/", {})
            assert stream.status == 200
            stream.abort()
        finally:
            await opened.close()


@pytest.mark.parametrize("content", [b"", b"no certificate", None])
async def test_a_ca_file_that_is_broken_for_a_moment_leaves_us_the_one_we_have(
    tmp_path: Path, content: bytes | None
) -> None:
    async with trusting(tmp_path) as (server, authority, access):
        await access.open()
        before = access.trusted()
        if content is None:
            authority.unlink()
        else:
            replace(authority, content)
        assert access.trusted() is before
        replace(authority, server.rotate("second"))
        assert access.trusted() is not before


async def test_a_ca_that_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    async with trusting(tmp_path) as (_, _, access):
        await access.open()
        assert access.trusted() is access.trusted()


async def test_a_ca_file_without_a_certificate_is_a_bad_configuration(tmp_path: Path) -> None:
    async with trusting(tmp_path) as (_, authority, access):
        authority.write_bytes(b"no certificate")
        with pytest.raises(ConfigError, match="cannot read the CA"):
            await access.open()
