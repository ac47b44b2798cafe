"""The throw-away certificates of one cluster: one authority, one server, one client per user.

Elliptic-curve keys, because making an RSA pair takes longer than starting etcd; the
ServiceAccount key is of the same kind, which the API server accepts. They are valid for this whole
century, so that a wrong clock does no harm.
"""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from local_cluster.container_node.addresses import API_SERVICE

_FROM = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_UNTIL = datetime.datetime(2099, 12, 31, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs the certificates of one cluster into one directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "local-cluster")])
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        builder = self._builder(self._name, self._key).add_extension(constraints, critical=True)
        self.pair = self._write("ca", builder, self._key)

    def server(self, name: str) -> Pair:
        """Make a serving certificate for loopback and for the API server's Service."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName(
            [
                x509.DNSName("localhost"),
                x509.DNSName("kubernetes.default.svc"),
                x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
                # The address that pods find in their environment.
                x509.IPAddress(ipaddress.ip_address(API_SERVICE)),
            ]
        )
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = self._builder(subject, key).add_extension(names, critical=False)
        return self._write(name, builder.add_extension(usage, critical=False), key)

    def client(self, user: str, *groups: str) -> Pair:
        """Make a client certificate: the common name is the user, organizations are groups."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = self._builder(x509.Name(attributes), key).add_extension(usage, critical=False)
        return self._write(user.replace(":", "-"), builder, key)

    def signing_key(self, name: str) -> Path:
        """Make a bare key, for ServiceAccount tokens."""
        file = self._directory / f"{name}.key"
        _write_key(file, ec.generate_private_key(ec.SECP256R1()))
        return file

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_FROM)
            .not_valid_after(_UNTIL)
        )

    def _write(
        self, name: str, builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey
    ) -> Pair:
        pair = Pair(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        certificate = builder.sign(self._key, hashes.SHA256())
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(pair.key, key)
        return pair


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    file.touch(mode=0o600)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
