"""Material for the client's tests."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pytest_asyncio.plugin import LoopFactory


@pytest.fixture(scope="session")
def authority() -> bytes:
    """The certificate of a CA that nobody uses."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def pytest_asyncio_loop_factories() -> Mapping[str, LoopFactory]:
    """The loop of the processes, and the one that tests and tools run on."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
