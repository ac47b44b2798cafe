"""`python -m tests.dashboard.screenshots`: makes the pictures of docs/dashboard.md.

They show the scene of `fleets.usual`, so they are the same on every machine but for its fonts.
"""

import asyncio
import sys
from pathlib import Path

from tests.dashboard.browser import browser, why_not
from tests.dashboard.fleets import usual
from tests.dashboard.served import served

FOLDER = Path(__file__).parents[2] / "docs" / "images"
VIEWS = {
    "fleet": ("#/fleet", "text=training"),
    "set": ("#/set/research/training", ".why >> text=Would run"),
    "capacity": ("#/capacity?gang=research%2Ftraining-0", ".rack .fit >> nth=0"),
    "backends": ("#/backends", "text=scheduling.run.ai"),
    "activity": ("#/activity", "text=PodLost"),
}
WIDE, NARROW = (1280, 800), (400, 800)
SHOWN = (
    *((view, WIDE, "light") for view in VIEWS if view != "capacity"),
    ("capacity", WIDE, "dark"),
    ("fleet", NARROW, "dark"),
)


async def main(folder: Path = FOLDER, *, everything: bool = False) -> None:
    """Write the pictures; all combinations if everything is asked for."""
    every = tuple((v, s, c) for v in VIEWS for s in (WIDE, NARROW) for c in ("light", "dark"))
    async with served(usual()) as dashboard, browser() as started:
        for view, (width, height), scheme in every if everything else SHOWN:
            page = await started.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            route, shown = VIEWS[view]
            await page.goto(dashboard.url + route)
            await page.wait_for_selector(shown)
            name = f"dashboard-{view}-{width}-{scheme}.png"
            await page.screenshot(path=folder / name)
            await page.close()
            sys.stdout.write(f"{folder / name}\n")


if __name__ == "__main__":
    if reason := why_not():
        sys.exit(reason)
    # Playwright makes the folder.
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    asyncio.run(main(chosen, everything=len(sys.argv) > 1))
