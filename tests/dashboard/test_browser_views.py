"""The five views in a real browser: what people see, by role and label as screen readers do."""

from typing import Any

import pytest

from tests.dashboard.conftest import OpenPage
from tests.dashboard.fleet_scene import FleetScene
from tests.dashboard.fleets import usual
from tests.dashboard.served import served

pytestmark = pytest.mark.browser


async def text(page: Any, selector: str) -> str:
    found: str = await page.inner_text(selector)
    return found


async def test_the_fleet_counts_sets_by_state_reason_and_age(open_page: OpenPage) -> None:
    async with served(usual()) as dashboard:
        page = await open_page(dashboard.url)
        await page.get_by_role("table", name="PodCliqueSets").wait_for()
        tiles = page.get_by_role("group", name="Sets by state").get_by_role("button")
        shown = [line.replace("\n", " ") for line in await tiles.all_inner_texts()]
        assert [line.split()[0] for line in shown] == ["Requires", "Waiting", "Running"]
        reasons = page.get_by_role("table", name="Sets that wait, by reason and by how long")
        rows = await reasons.get_by_role("row").all_inner_texts()
        rejected = next(row for row in rows if "Rejected" in row)
        assert rejected.split() == ["Rejected", "·", "·", "1", "·", "1", "42m"]
        # What requires manual action comes first, then what waits longest.
        rows = (
            await page.get_by_role("table", name="PodCliqueSets")
            .get_by_role("row")
            .all_inner_texts()
        )
        order = [next(n for n in row.split() if "/" in n) for row in rows[1:4]]
        assert order == ["research/finetune-mt", "research/pretrain-70b", "research/training"]


async def test_a_number_filters_the_list(open_page: OpenPage) -> None:
    async with served(usual()) as dashboard:
        page = await open_page(dashboard.url)
        await page.get_by_role("button", name="Requires manual action").click()
        await page.get_by_text("1 of 13 sets").wait_for()
        await page.get_by_role("button", name="Show all").click()
        await page.get_by_role("searchbox", name="Filter sets").fill("llama")
        await page.get_by_text("1 of 13 sets").wait_for()
        assert "serving/llama-serve" in await text(page, "#fleet-rows")


@pytest.mark.parametrize("width", [1280, 400])
async def test_the_fleet_shows_every_remedy_whole(open_page: OpenPage, width: int) -> None:
    remedies = {
        "research/finetune-mt": "Set the label kai.scheduler/queue on the PodCliqueSet",
        "research/nightly-bench": (
            "Start it: kubectl -n grove-system scale deployment backend-volcano --replicas=2"
        ),
    }
    async with served(usual()) as dashboard:
        page = await open_page(dashboard.url, width=width)
        for name, remedy in remedies.items():
            row = page.get_by_role("row").filter(has=page.get_by_role("link", name=name))
            shown = row.locator(".c-why span").last
            assert remedy in await shown.inner_text()
            for part in (shown, row.locator(".c-why")):
                sizes = await part.evaluate("e => [e.scrollHeight, e.clientHeight]")
                assert sizes[0] <= sizes[1], f"{name} is cut: {sizes}"


async def test_a_set_shows_stages_numbers_and_objects_of_its_gang(open_page: OpenPage) -> None:
    async with served(usual()) as dashboard:
        page = await open_page(dashboard.url)
        await page.get_by_role("link", name="research/training").click()
        stages = page.get_by_role("list", name="Stages of training-0").get_by_role("listitem")
        await stages.nth(7).wait_for()
        shown = [" ".join(line.split()) for line in await stages.all_inner_texts()]
        assert shown[1] == "selected : done +5s"
        assert shown[6] == "scheduled 0/12 : waiting 12m"
        await page.get_by_text("10 of 12 pods fit").wait_for()
        await page.get_by_text("In the way:").wait_for()
        assert (await text(page, ".tree")).count("Pod training-0-worker-") == 12


async def test_capacity_shades_where_a_waiting_gang_nearly_fits(open_page: OpenPage) -> None:
    async with served(usual()) as dashboard:
        page = await open_page(f"{dashboard.url}#/capacity")
        await page.get_by_label("Waiting gang").select_option("research/training-0")
        await page.get_by_text("10 of them fit now").wait_for()
        best = page.locator(".rack").first
        assert "rack-7" in await best.inner_text()
        assert "6 of 12 pods fit" in await best.inner_text()
        node = page.get_by_role("img", name="node-27:")
        label = await node.get_attribute("aria-label")
        assert label == (
            "node-27: 0 of 8 GPUs used by gangs, 0 by others, 8 free, 2 pods of the gang fit"
        )
        assert "faded" in str(
            await page.get_by_role("region", name="rack-0").get_attribute("class")
        )


async def test_backends_show_which_is_down_and_how_to_start_it(open_page: OpenPage) -> None:
    async with served(usual()) as dashboard:
        page = await open_page(f"{dashboard.url}#/backends")
        down = page.get_by_role("article", name="Backend volcano")
        await down.wait_for()
        assert "scale deployment backend-volcano --replicas=2" in await down.inner_text()
        assert "ready" in await page.get_by_role("article", name="Backend kai").inner_text()


async def test_activity_lists_what_happened_with_its_cause(open_page: OpenPage) -> None:
    async with served(usual()) as dashboard:
        page = await open_page(f"{dashboard.url}#/activity")
        rows = page.get_by_role("table", name="Activity").get_by_role("row")
        await rows.nth(4).wait_for()
        assert "node node-20 stopped reporting" in await rows.nth(0).inner_text()
        await page.get_by_role("button", name="Preemptions").click()
        await page.get_by_text("1 event").wait_for()
        assert "preempted by serving/llama-serve-0" in await rows.nth(0).inner_text()


async def test_a_change_appears_without_a_reload(open_page: OpenPage) -> None:
    scene = usual()
    async with served(scene) as dashboard:
        page = await open_page(dashboard.url)
        await page.get_by_role("link", name="research/training").wait_for()
        await page.evaluate("globalThis.isSamePage = true")
        scene.running("training", pods=12, gpus=4, first_node=26)
        await page.locator(".tile.running .number", has_text="9").wait_for()
        assert await page.evaluate("globalThis.isSamePage")


async def test_markup_in_messages_is_shown_as_text(open_page: OpenPage) -> None:
    scene = FleetScene()
    evil = "<img src=x onerror=globalThis.isHacked=true><script>isHacked=true</script>"
    scene.waiting("evil", "Scheduled", "Unschedulable", evil, pods=1, gpus=1, since=60, queue=evil)
    scene.event("PodCliqueSet", "evil", "PodLost", evil, 10)
    scene.synced()
    async with served(scene) as dashboard:
        for view in ("fleet", "set/research/evil", "activity"):
            page = await open_page(f"{dashboard.url}#/{view}")
            await page.get_by_text("<img src=x").first.wait_for()
            assert await page.evaluate("globalThis.isHacked") is None
            assert await page.locator("main img, main script").count() == 0


async def test_an_empty_cluster_says_so(open_page: OpenPage) -> None:
    scene = FleetScene()
    scene.synced()
    async with served(scene) as dashboard:
        page = await open_page(dashboard.url)
        await page.get_by_text("No PodCliqueSets").wait_for()
        await page.goto(f"{dashboard.url}#/backends")
        await page.get_by_text("No backend is installed").wait_for()


async def test_kinds_that_cannot_be_read_are_named_with_the_reason(open_page: OpenPage) -> None:
    scene = usual()
    scene.caches.unread |= {"nodes": "nodes is forbidden", "pods": "you may not list pods"}
    async with served(scene) as dashboard:
        page = await open_page(f"{dashboard.url}#/capacity")
        await page.get_by_text("not shown: nodes is forbidden").wait_for()


async def test_a_lost_connection_is_shown_and_found_again(open_page: OpenPage) -> None:
    async with served(usual()) as dashboard:
        page = await open_page(dashboard.url)
        await page.get_by_text("live", exact=True).wait_for()
        await page.context.set_offline(True)
        await page.evaluate("dashboard.stream.source.onerror()")
        await page.get_by_text("connection lost").wait_for()
