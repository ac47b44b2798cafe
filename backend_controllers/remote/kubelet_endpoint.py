"""Answers `kubectl logs` for the pods of a virtual node, as a kubelet does.

The API server connects to the address in the Node's status and asks for `/containerLogs/...`. Every
request is authorized first, see `callers`. It reads the log from the executor and streams it, so a long
log needs no memory. Nothing else is served: no exec, no attach, no port-forward.
"""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import structlog
from aiohttp import web

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import Executor, ExecutorError, RemoteUnit
from backend_controllers.contract.remote.log_requests import (
    LogRequest,
    LogRequestError,
    log_request,
)
from backend_controllers.generic.context import BackendContext
from backend_controllers.remote.callers import client_authority, may_read
from backend_controllers.remote.serving_certificate import (
    SIGNING_REQUESTS,
    ServingKey,
    SigningRequest,
    lifetime,
)
from backend_controllers.remote.virtual_node import LogAddress
from backend_controllers.settings import BackendLogs, LogCertificate
from shared_api import names
from shared_api.kube.errors import KubeError
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.watching.cache import Cache

log = structlog.stdlib.get_logger(__name__)
_AGAIN_SECONDS = 60.0
_LOOK_SECONDS = 5.0
"""Between two looks whether the certificate was approved; few clusters grant a watch for it."""
_HEADER_BYTES = 16 * 1024
_STREAMS = 64


class KubeletEndpoint:
    """The endpoint of one process."""

    def __init__(
        self,
        context: BackendContext,
        settings: BackendLogs,
        executor: Executor,
        pods: Cache[RemotePod],
    ) -> None:
        self._context = context
        self._settings = settings
        self._executor = executor
        self._pods = pods
        self._host = settings.address or context.settings.server.host
        self._address: LogAddress | None = None
        self._tried = asyncio.Event()
        self._streams = asyncio.Semaphore(_STREAMS)

    def address(self) -> LogAddress | None:
        """Return where logs are served; None while they are not."""
        return self._address

    async def wait_tried(self) -> None:
        """Wait until it serves, or could not; gangs do not depend on it."""
        await self._tried.wait()

    async def run(self) -> None:
        """Serve until cancelled."""
        while True:
            try:
                await self._serve()
                continue
            except (KubeError, OSError, ValueError) as error:
                log.warning("kubectl logs is not served", error=str(error))
            finally:
                self._address = None
                self._tried.set()
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _serve(self) -> None:
        certificate, context = await self._tls()
        runner = web.AppRunner(
            self._application(),
            access_log=None,
            max_field_size=_HEADER_BYTES,
            shutdown_timeout=1,
            # A follower that disconnects must not be served until the container writes.
            handler_cancellation=True,
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._host, self._settings.port, ssl_context=context)
            await site.start()
            port = runner.addresses[0][1]
            self._address = LogAddress(self._host, port)
            self._tried.set()
            log.info("kubectl logs is served", address=self._host, port=port)
            await asyncio.sleep(lifetime(certificate, self._context.now()))
        finally:
            await runner.cleanup()

    async def _tls(self) -> tuple[bytes, ssl.SSLContext]:
        authority = await client_authority(self._context.client)
        if not authority:
            raise ValueError("the cluster names no authority for client certificates")
        key = ServingKey.made(self._context.backend.name, self._host)
        if self._settings.certificate is LogCertificate.SELF_SIGNED:
            certificate = key.self_signed(self._context.now())
        else:
            certificate = await self._requested(key)
        return certificate, key.context(certificate, authority)

    async def _requested(self, key: ServingKey) -> bytes:
        """Ask the cluster for a certificate and wait until an administrator approves it."""
        client, name = self._context.client, key.request_name
        await client.create(
            SIGNING_REQUESTS,
            key.signing_request(),
            field_manager=self._context.field_manager,
            into=SigningRequest,
        )
        log.warning(
            "kubectl logs waits for its certificate",
            approve=f"kubectl certificate approve {name}",
        )
        self._tried.set()
        while True:
            found = await client.get(SIGNING_REQUESTS, name, into=SigningRequest)
            if found.status.certificate:
                return base64.b64decode(found.status.certificate)
            if refused := [one.type for one in found.status.conditions if one.type != "Approved"]:
                raise ValueError(f"CertificateSigningRequest {name}: {', '.join(refused)}")
            await asyncio.sleep(_LOOK_SECONDS)

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[self._authorized])
        application.router.add_get("/containerLogs/{rest:.*}", self._log)
        return application

    @web.middleware
    async def _authorized(self, request: web.Request, handler: Any) -> web.StreamResponse:
        certificate = request.transport.get_extra_info("peercert") if request.transport else None
        context = self._context
        try:
            allowed = await may_read(
                context.client, context.field_manager, certificate, context.backend.name
            )
        except KubeError as error:
            return web.Response(status=503, text=f"no answer to an access review: {error}\n")
        if not allowed:
            return web.Response(status=403, text="Forbidden\n")
        response: web.StreamResponse = await handler(request)
        return response

    async def _log(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = log_request(request.path, request.query, self._context.now())
            unit = self._unit(asked)
        except LogRequestError as error:
            return web.Response(status=error.status, text=f"{error}\n")
        if self._streams.locked():
            return web.Response(status=429, text=f"{_STREAMS} logs are read already\n")
        async with self._streams:
            return await self._streamed(request, asked, unit)

    async def _streamed(
        self, request: web.Request, asked: LogRequest, unit: RemoteUnit
    ) -> web.StreamResponse:
        pieces = limited(self._executor.logs(unit, asked.options), asked.limit)
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        async with contextlib.aclosing(pieces):
            try:
                # The headers go out at once: a follower of a silent container waits for them.
                await response.prepare(request)
                async for piece in pieces:
                    await response.write(piece)
            except ExecutorError as error:
                await response.write(f"cannot read the log: {error}\n".encode())
            except ConnectionError:
                return response
        await response.write_eof()
        return response

    def _unit(self, asked: LogRequest) -> RemoteUnit:
        pod = self._pods.get(asked.pod)
        if pod is None or pod.spec.node_name != self._context.backend.name:
            raise LogRequestError(404, f"pod {asked.pod} is not on this node")
        if pod.spec.containers[0].name != asked.container:
            raise LogRequestError(
                404, f"container {asked.container} not found in pod {asked.pod.name}"
            )
        gang = ObjectKey(asked.pod.namespace, pod.metadata.labels.get(names.LABEL_PODGANG, ""))
        for unit in self._executor.units(gang):
            if unit.pod_uid == pod.metadata.uid:
                return unit
        raise LogRequestError(404, f"nothing runs for pod {asked.pod}")


async def limited(pieces: AsyncIterator[bytes], limit: int | None) -> AsyncGenerator[bytes, None]:
    """Yield pieces until a number of bytes; all without a limit."""
    left = limit
    try:
        async for piece in pieces:
            if left is None:
                yield piece
                continue
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return
    finally:
        # The connection to the host ends now, not with the next garbage collection.
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
