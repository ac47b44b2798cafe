"""The page for everybody: narrow and wide, light and dark, by keyboard, for screen readers."""

from typing import Any

import pytest

from tests.dashboard.conftest import OpenPage
from tests.dashboard.fleets import large, usual
from tests.dashboard.screenshots import VIEWS
from tests.dashboard.served import served
from tests.dashboard.toolchain import required

pytestmark = pytest.mark.browser

LOOKS = [(width, scheme) for width in (1280, 400) for scheme in ("light", "dark")]


async def shown(open_page: OpenPage, url: str, view: str, **look: Any) -> Any:
    route, selector = VIEWS[view]
    page = await open_page(url + route, **look)
    await page.wait_for_selector(selector)
    return page


@pytest.mark.parametrize("width", [1280, 400])
async def test_nothing_is_wider_than_the_window(open_page: OpenPage, width: int) -> None:
    async with served(usual()) as dashboard:
        for view in VIEWS:
            page = await shown(open_page, dashboard.url, view, width=width)
            wide = await page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, view
            cut = await page.evaluate(
                """() => [...document.querySelectorAll('button, select, input, nav a, h1, h2')]
                .filter((e) => !e.closest('.unseen, .scrolls'))
                .filter((e) => { const r = e.getBoundingClientRect();
                  return r.width > 1 && (r.right > innerWidth + 1 || r.left < -1); })
                .map((e) => e.outerHTML)"""
            )
            assert cut == [], view


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
async def test_no_view_breaks_a_rule_of_axe(open_page: OpenPage, width: int, scheme: str) -> None:
    # The content policy forbids foreign scripts in the page, so the driver runs it beside.
    script = (required() / "axe-core" / "axe.min.js").read_text()
    async with served(usual()) as dashboard:
        for view in VIEWS:
            page = await shown(open_page, dashboard.url, view, width=width, scheme=scheme)
            await page.evaluate(script)
            found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            broken = [
                f"{rule['id']}: {node['html']} {node['failureSummary']}"
                for rule in found["violations"]
                for node in rule["nodes"]
            ]
            assert broken == [], f"{view} at {width} {scheme}"


async def test_every_view_can_be_reached_and_used_by_keyboard(open_page: OpenPage) -> None:
    async with served(usual()) as dashboard:
        page = await shown(open_page, dashboard.url, "fleet")
        focused = "document.activeElement.innerText.trim()"
        seen: list[str] = []
        while len(seen) < 40 and "finetune-mt" not in "".join(seen):
            await page.keyboard.press("Tab")
            seen.append(await page.evaluate(focused))
        assert seen[0] == "Skip to content"
        assert seen[1:5] == ["Fleet", "Capacity", "Backends", "Activity"]
        assert any("Requires manual action" in name for name in seen)
        await page.keyboard.press("ArrowDown")
        assert "pretrain-70b" in await page.evaluate(focused)
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="research/pretrain-70b").wait_for()
        assert await page.evaluate("document.activeElement.id") == "main"


async def test_arrow_keys_reach_rows_that_were_not_drawn(open_page: OpenPage) -> None:
    async with served(large(300)) as dashboard:
        page = await open_page(dashboard.url)
        await page.locator("#fleet-rows a").first.focus()
        for _ in range(80):
            await page.keyboard.press("ArrowDown")
        row = await page.evaluate("document.activeElement.closest('.row').ariaRowIndex")
        assert int(row) == 82


async def test_totals_are_announced_to_screen_readers(open_page: OpenPage) -> None:
    async with served(usual()) as dashboard:
        page = await shown(open_page, dashboard.url, "fleet")
        announced = page.locator("#announcer")
        await announced.filter(has_text="manual action, 4 waiting, 8 running").wait_for()
        assert await announced.get_attribute("aria-live") == "polite"


async def test_dark_and_light_differ_and_follow_the_system(open_page: OpenPage) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    async with served(usual()) as dashboard:
        light = await shown(open_page, dashboard.url, "fleet", scheme="light")
        dark = await shown(open_page, dashboard.url, "fleet", scheme="dark")
        assert await light.evaluate(paper) == "rgb(246, 247, 249)"
        assert await dark.evaluate(paper) == "rgb(15, 19, 26)"
