"""The address of the API server, the TLS context and the credentials of this process.

kubernetes_asyncio loads the configuration (see `loaders`). Credentials are read again at most
once a minute, and at once after a 401. A new client certificate is loaded into the TLS context
that all connections share, so new connections use it. A replaced CA file gives new connections a
new TLS context; open connections stay open. A token that does not fit in a header is refused and
never quoted. Proxy variables of the environment are ignored; a kubeconfig may name a proxy.
"""

import asyncio
import contextlib
import os
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from yaml import YAMLError

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
# Without a minimum interval, a server that refuses good credentials would make every request run
# an exec plug-in.
RENEWAL_SECONDS = 1.0

_UNREADABLE = (
    *(ConfigException, YAMLError, OSError, ValueError, TypeError),
    # The loader looks into a file that has no mapping.
    *(AttributeError, LookupError),
)
Load = Callable[[bool], Awaitable[Configuration]]
"""Reads the configuration; True requests new credentials even if the old ones seem valid."""


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
        """Return the TLS context for a new connection; read the CA file again if it changed."""
        if self.tls is not None and self._configuration is not None:
            found = _stamp(self._configuration)
            if found != self._authority:
                # If the file is missing or half written, the old CA stays in use, and the next
                # connection tries again.
                with contextlib.suppress(OSError):
                    self.tls = _tls(self._configuration)
                    self._authority = found
        return self.tls

    async def current(self) -> str | None:
        """Return the Authorization header to send now."""
        if _now() - self._read_at >= REREAD_SECONDS:
            async with self._lock:
                if _now() - self._read_at >= REREAD_SECONDS:
                    # If the token file is missing for a moment, the old token stays in use.
                    with contextlib.suppress(ConfigError):
                        await self._read(force=False)
        return self.authorization

    async def renew(self, refused: str | None) -> bool:
        """Read the credentials again after a 401 to `refused`; return whether they are new."""
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
        except _UNREADABLE as error:
            found = " ".join(str(error).split())
            raise ConfigError(f"cannot read the configuration: {found}") from error
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
    """Use the service account of the pod, or outside of a pod the user's kubeconfig."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster()
    return from_kubeconfig(os.environ.get("KUBECONFIG") or Path.home() / ".kube" / "config")


def in_cluster(directory: Path | None = None) -> Access:
    """Use the token and the CA in a directory: the argument, else a variable, else the default."""
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
            # A new loader has no cached answer of the exec plug-in, so the plug-in runs again.
            loader = await load_kube_config(str(path), context, configuration, persist_config=False)
        else:
            await loader.load_and_set(configuration)
        return configuration

    return Access(load)


_Stamp: TypeAlias = tuple[str, int, int, int]


def _stamp(configuration: Configuration) -> _Stamp | None:
    """Return a value that differs between two versions of a CA file, without reading it."""
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
