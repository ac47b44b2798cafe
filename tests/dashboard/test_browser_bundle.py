"""The bundle of the page is the page, in three requests."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.dashboard import bundle
from tests.dashboard.conftest import OpenPage
from tests.dashboard.fleets import usual
from tests.dashboard.screenshots import VIEWS
from tests.dashboard.served import served
from tests.dashboard.toolchain import required

pytestmark = pytest.mark.browser


async def test_the_bundle_shows_every_view_and_follows_changes(
    open_page: OpenPage, tmp_path: Path
) -> None:
    required()
    bundle.build(tmp_path / "bundle")
    scene = usual()
    async with served(scene, folder=tmp_path / "bundle") as dashboard:
        for view, (route, selector) in VIEWS.items():
            page = await open_page(dashboard.url + route)
            await page.wait_for_selector(selector)
            loaded = await page.evaluate(
                "performance.getEntriesByType('resource').map((one) => one.name)"
            )
            names = {urlsplit(name).path.rpartition("/")[2] for name in loaded}
            assert names <= {"page.js", "page.css", "favicon.svg", "events", "gang"}, view
        page = await open_page(dashboard.url)
        await page.locator(".tile.running .number", has_text="8").wait_for()
        scene.running("training", pods=12, gpus=4, first_node=26)
        await page.locator(".tile.running .number", has_text="9").wait_for()
