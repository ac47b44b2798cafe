"""A real browser for tests, screenshots and the benchmark: the chromium of this machine.

It owns finding the browser and starting it. Nothing is downloaded: the driver comes from PyPI, the
browser from the system. Where either is missing, `why_not` gives the reason with which tests skip.
"""

import contextlib
import importlib.util
import os
import shutil
from collections.abc import AsyncIterator
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "PODGANG_BROWSER_REQUIRED"
"""Set where the tests must not skip."""


def executable() -> str | None:
    """The browser of this machine."""
    named = os.environ.get("PODGANG_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def why_not() -> str:
    """Why no browser can be started; empty if one can."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed: pip install '.[browser]'"
    if executable() is None:
        return f"no browser: install one of {', '.join(NAMES)} (Debian: apt install chromium)"
    return ""


@contextlib.asynccontextmanager
async def browser() -> AsyncIterator[Any]:
    """A browser without windows, until the block ends."""
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        started = await driver.chromium.launch(
            executable_path=executable(),
            # Containers have neither user namespaces for root nor a large /dev/shm.
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        try:
            yield started
        finally:
            await started.close()
