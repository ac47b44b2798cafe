"""A page in a real browser; tests that need one are skipped with the reason where there is none."""

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.core.conftest import capacity, client, core_cluster, person
from tests.dashboard.browser import REQUIRED, browser, why_not

__all__ = ["capacity", "client", "core_cluster", "person"]

OpenPage = Callable[..., Awaitable[Any]]


@pytest.fixture
async def open_page() -> AsyncIterator[OpenPage]:
    """Opens pages; a message in the console of one of them fails the test."""
    if reason := why_not():
        if os.environ.get(REQUIRED):
            pytest.fail(reason)
        pytest.skip(reason)
    complaints: list[str] = []
    async with browser() as started:

        async def opened(url: str, *, width: int = 1280, scheme: str = "light") -> Any:
            page = await started.new_page(
                viewport={"width": width, "height": 800}, color_scheme=scheme
            )
            page.set_default_timeout(60_000)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda message: complaints.append(_complaint(message)))
            await page.goto(url)
            return page

        yield opened
    assert [text for text in complaints if text] == []


def _complaint(message: Any) -> str:
    is_lost = re.search(r"ERR_CONNECTION|ERR_INCOMPLETE", message.text)
    return message.text if message.type in ("error", "warning") and not is_lost else ""
