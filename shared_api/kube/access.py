"""Where the API server is, and how we prove who we are.

Configurations are loaded by kubernetes_asyncio (see `loaders`). Credentials are read again
at most once a minute, and at once when the server answered 401 to the ones in use; a new
client certificate reaches new connections because it is loaded into the TLS context that
they share. A CA file that was replaced gives new connections a new TLS context; those that are
open go on. A token that no header can carry is refused and never quoted. Proxy variables of the environment are ignored; a kubeconfig may name a proxy.
"""

import asyncio
import contextlib
import os
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from shared_api.kube.errors import ConfigError
from shared_api.kube.loaders import (
    ConfigException,
    Configuration,
    KubeConfigLoader,
    load_incluster_config,
    load_kube_config,
)

SERVICE_ACCOUNT_DIR_ENV = "KUBERNETES_SERVICE_ACCOUNT_DIR"
SERVICE_ACCOUNT_DIR = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_SECONDS = 60.0
# A server that refuses good credentials must not make every request run an exec plug-in.
RENEWAL_SECONDS = 1.0

Load = Callable[[bool], Awaitable[Configuration]]
"""Reads the configuration; True asks for new credentials even if the old seem valid."""


class Access:
    """Server address, TLS and the current credentials."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._lock = asyncio.Lock()
        self._read_at = -REREAD_SECONDS
        self._renewed_at = -RENEWAL_SECONDS
        self._certificate: str | None = None
        self._configuration: Configuration | None = None
        self._authority: _Stamp | None = None
        self.server = ""
        self.tls: ssl.SSLContext | None = None
        self.server_name: str | None = None
        self.proxy: str | None = None
        self.authorization: str | None = None
        """The value of the Authorization header as last read."""

    async def open(self) -> None:
        """Read everything for the first time."""
        configuration = await self._read(force=False)
        self.server = str(configuration.host).rstrip("/")
        self.server_name = configuration.tls_server_name or None
        self.proxy = configuration.proxy or None
        if self.server.startswith("https"):
            self._authority = _stamp(configuration)
            try:
                self.tls = _tls(configuration)
            except OSError as error:
                raise ConfigError(f"cannot read the CA or client certificate: {error}") from error

    def trusted(self) -> ssl.SSLContext | None:
        """Return the TLS context for a new connection; a CA file that changed is read again."""
        if self.tls is not None and self._configuration is not None:
            found = _stamp(self._configuration)
            if found != self._authority:
                # A file that is missing or half written leaves us the CA that we have, and the
                # next connection tries again.
                with contextlib.suppress(OSError):
                    self.tls = _tls(self._configuration)
                    self._authority = found
        return self.tls

    async def current(self) -> str | None:
        """The Authorization header to send now."""
        if _now() - self._read_at >= REREAD_SECONDS:
            async with self._lock:
                if _now() - self._read_at >= REREAD_SECONDS:
                    # A token file that is missing for a moment leaves us the token we have.
                    with contextlib.suppress(ConfigError):
                        await self._read(force=False)
        return self.authorization

    async def renew(self, refused: str | None) -> bool:
        """After a 401 to `refused`: read again, and tell whether trying again makes sense."""
        async with self._lock:
            if self.authorization == refused and _now() - self._renewed_at >= RENEWAL_SECONDS:
                self._renewed_at = _now()
                before = self._certificate
                with contextlib.suppress(ConfigError):
                    configuration = await self._read(force=True)
                    if self._certificate != before and self.tls is not None:
                        _load_certificate(self.tls, configuration)
                        return True
            return self.authorization != refused

    async def _read(self, *, force: bool) -> Configuration:
        self._read_at = _now()
        try:
            configuration = await self._load(force)
        except (ConfigException, OSError, ValueError, TypeError) as error:
            raise ConfigError(f"cannot read the configuration: {error}") from error
        # Editors end a file with a line break.
        authorization = (configuration.api_key.get("BearerToken") or "").rstrip() or None
        if authorization and not (authorization.isascii() and authorization.isprintable()):
            raise ConfigError(
                "the token contains a line break, a control character or a letter outside of "
                "ASCII, which no header can carry. Write the token alone into its file"
            )
        self._configuration = configuration
        self._certificate = configuration.cert_file
        self.authorization = authorization
        return configuration


def from_environment() -> Access:
    """In a pod its service account, elsewhere the user's kubeconfig."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster()
    return from_kubeconfig(os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config")


def in_cluster(directory: Path | None = None) -> Access:
    """Use the token and the CA of a pod; the directory is an argument, a variable, a default."""
    if directory is None:
        directory = Path(os.environ.get(SERVICE_ACCOUNT_DIR_ENV) or SERVICE_ACCOUNT_DIR)

    async def load(_force: bool) -> Configuration:  # noqa: FBT001 - the type of `Load`
        configuration = Configuration()
        load_incluster_config(  # type: ignore[no-untyped-call]
            configuration,
            try_refresh_token=False,
            token_filename=str(directory / "token"),
            cert_filename=str(directory / "ca.crt"),
        )
        return configuration

    return Access(load)


def from_kubeconfig(path: Path | str, context: str | None = None) -> Access:
    """Use a kubeconfig (or several, separated as in KUBECONFIG) and one of its contexts."""
    loader: KubeConfigLoader | None = None

    async def load(force: bool) -> Configuration:  # noqa: FBT001 - the type of `Load`
        nonlocal loader
        configuration = Configuration()
        if loader is None or force:
            # A new loader has forgotten the answer of the exec plug-in, so it runs again.
            loader = await load_kube_config(str(path), context, configuration, persist_config=False)
        else:
            await loader.load_and_set(configuration)
        return configuration

    return Access(load)


_Stamp: TypeAlias = tuple[str, int, int, int]


def _stamp(configuration: Configuration) -> _Stamp | None:
    """Return what differs between two CA files, without reading them."""
    path = configuration.ssl_ca_cert
    if not path:
        return None
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return path, found.st_ino, found.st_mtime_ns, found.st_size


def _tls(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    # Python 3.13 turns this on, and then refuses CAs that every Go client accepts.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    _load_certificate(context, configuration)
    return context


def _load_certificate(context: ssl.SSLContext, configuration: Configuration) -> None:
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)


def _now() -> float:
    return asyncio.get_running_loop().time()
