"""The certificate with which the kubelet endpoint serves, and the TLS context with it.

The key is made at start and stays in memory. By default the certificate is signed by the key itself,
which API servers accept that do not verify kubelets. With `ClusterSigned` it is requested from the
cluster as a kubelet does; an administrator must approve the request, since no backend may approve its own.
"""

import base64
import datetime
import hashlib
import ipaddress
import os
import ssl
from dataclasses import dataclass

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from shared_api.kube.metadata import Metadata
from shared_api.kube.resources import Resource

SIGNER = "kubernetes.io/kubelet-serving"
SIGNING_REQUESTS = Resource(
    "certificates.k8s.io",
    "v1",
    "certificatesigningrequests",
    "CertificateSigningRequest",
    namespaced=False,
)
_VALID = datetime.timedelta(days=365)
_SKEW = datetime.timedelta(hours=1)


class SigningCondition(msgspec.Struct, frozen=True):
    """What was decided: Approved, Denied or Failed."""

    type: str = ""


class SigningStatus(msgspec.Struct, frozen=True):
    """The answer to a request; the API encodes bytes in base64."""

    certificate: str = ""
    conditions: tuple[SigningCondition, ...] = ()


class SigningRequest(msgspec.Struct, frozen=True):
    """A CertificateSigningRequest."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: SigningStatus = SigningStatus()


@dataclass(frozen=True, slots=True)
class ServingKey:
    """The key of one process, for one node and one address."""

    node: str
    address: str
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def made(cls, node: str, address: str) -> "ServingKey":
        """Make a new key."""
        return cls(node, address, ec.generate_private_key(ec.SECP256R1()))

    def self_signed(self, now: datetime.datetime) -> bytes:
        """Return a certificate for which this key answers itself."""
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = (
            x509.CertificateBuilder()
            .subject_name(self._subject)
            .issuer_name(self._subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _SKEW)
            .not_valid_after(now + _VALID)
            .add_extension(self._names, critical=False)
            .add_extension(usage, critical=False)
        )
        certificate = builder.sign(self.key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def request_name(self) -> str:
        """The name of the request, with a fingerprint of the key: a new key is a new request."""
        encoded = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return f"podgang-{self.node}-{hashlib.sha256(encoded).hexdigest()[:10]}"

    def signing_request(self) -> dict[str, object]:
        """Return the object that asks the cluster for a certificate."""
        builder = x509.CertificateSigningRequestBuilder(self._subject)
        signed = builder.add_extension(self._names, critical=False).sign(self.key, hashes.SHA256())
        encoded = base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
        return {
            "apiVersion": SIGNING_REQUESTS.api_version,
            "kind": SIGNING_REQUESTS.kind,
            "metadata": {"name": self.request_name},
            "spec": {
                "request": encoded,
                "signerName": SIGNER,
                "usages": ["digital signature", "server auth"],
            },
        }

    def context(self, certificate: bytes, client_authority: str) -> ssl.SSLContext:
        """Return what connections are served with: callers need a certificate of this authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=client_authority)
        key = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        # OpenSSL reads files only, and the file system of the container is read-only.
        file = os.memfd_create("serving-certificate")
        try:
            os.write(file, certificate + key)
            context.load_cert_chain(f"/proc/self/fd/{file}")
        finally:
            os.close(file)
        return context

    @property
    def _subject(self) -> x509.Name:
        # What the signer of kubelets requires.
        return x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
                x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{self.node}"),
            ]
        )

    @property
    def _names(self) -> x509.SubjectAlternativeName:
        return x509.SubjectAlternativeName(
            [x509.DNSName(self.node), x509.IPAddress(ipaddress.ip_address(self.address))]
        )


def lifetime(certificate: bytes, now: datetime.datetime) -> float:
    """Return the seconds after which a certificate is replaced: four fifths of those it has."""
    ends = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
    return max(60.0, (ends - now).total_seconds() * 0.8)
