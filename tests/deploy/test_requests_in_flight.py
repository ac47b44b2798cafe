"""A process has as many requests in flight as its settings say."""

import pytest
from kubernetes_asyncio.client import Configuration

from backend_controllers import settings as backend_settings
from backend_controllers.default import BACKEND
from backend_controllers.generic import process
from core_operator import app, settings
from shared_api.kube.access import Access
from shared_api.kube.http.pool import ConnectionLimits


class _EndOfTestError(Exception):
    pass


async def _unread(_: bool) -> Configuration:
    raise _EndOfTestError


async def test_as_many_requests_are_in_flight_as_the_settings_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allowed: list[int] = []

    def client(_: object, *, limits: ConnectionLimits, **__: object) -> None:
        allowed.append(limits.in_flight)
        raise _EndOfTestError

    monkeypatch.setattr(app, "Client", client)
    monkeypatch.setattr(process, "Client", client)
    text, access = "concurrency: {requests: 3}", Access(_unread)
    with pytest.raises(_EndOfTestError):
        await app.run(settings.parse(text), lambda: access)
    chosen = backend_settings.parse(text, BACKEND.options)
    with pytest.raises(_EndOfTestError):
        await process.run(BACKEND, chosen, lambda: access)
    assert allowed == [3, 3]
