"""The certificate and the reviews with which metrics are served by TLS.

The certificate comes from files, as the kubelet mounts them from a Secret, and is loaded again when
they change. None is made here: a scraper cannot verify a certificate that is new at every start, and
would send its token to any server.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import structlog

from shared_api.kube.client import Client
from shared_api.kube.http.slots import Urgency
from shared_api.runtime.configuration import ServerSettings, SettingsError
from shared_api.runtime.serving.reviews import Reviews

log = structlog.stdlib.get_logger(__name__)


class Certificate:
    """The certificate and the key of a directory: `tls.crt` and `tls.key`."""

    def __init__(self, directory: Path) -> None:
        self._files = (directory / "tls.crt", directory / "tls.key")
        try:
            self._version = self._present_version()
            self._context = self._load()
        except OSError as error:
            raise SettingsError(f"server.metricsCertificates: {directory}: {error}") from error

    def context(self) -> ssl.SSLContext:
        """Return what the next connection is served with."""
        try:
            version = self._present_version()
            if version != self._version:
                self._version = version
                self._context = self._load()
                log.info("loaded a new certificate for metrics")
        except OSError as error:
            # Files may be replaced one after the other; the last one makes another version.
            log.warning("the new certificate for metrics cannot be used", error=str(error))
        return self._context

    def _present_version(self) -> tuple[tuple[int, int], ...]:
        return tuple((found.st_ino, found.st_mtime_ns) for found in map(Path.stat, self._files))

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(*self._files)
        return context


@dataclass(frozen=True, slots=True)
class SecureMetrics:
    """Everything that a server needs to serve metrics by TLS."""

    port: int
    certificate: Certificate
    reviews: Reviews

    @classmethod
    def of(cls, settings: ServerSettings, client: Client, field_manager: str) -> Self | None:
        """Return what the settings ask for; None if metrics are not secured."""
        if settings.metrics_certificates is None:
            return None
        reviews = Reviews(
            # A scraper waits for it, with a timeout of a few seconds.
            client.at(Urgency.FINISH),
            field_manager,
            keep_seconds=settings.review_cache_seconds,
        )
        certificate = Certificate(Path(settings.metrics_certificates))
        return cls(settings.metrics_port, certificate, reviews)
