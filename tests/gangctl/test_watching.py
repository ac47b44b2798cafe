"""`status -w` against a server that stops answering."""

import asyncio

from gangctl.reading import CommandTarget
from gangctl.rendering import plain
from gangctl.reports.status import status_report, status_view
from gangctl.snapshot import Snapshot
from gangctl.watching import follow
from tests.faults.clients import scripted
from tests.faults.scripted import answer, cut, failure, silence, stream
from tests.runtime.watch_scripts import bookmark

EMPTY = answer(200, {"metadata": {"resourceVersion": "9"}, "items": []})
QUIET = stream(bookmark(9, end=True), then=silence)
BROKEN = stream(bookmark(9, end=True), then=cut)


async def test_a_table_says_that_it_is_old_while_a_watch_is_broken() -> None:
    lists, watches = (EMPTY,) * 3, (QUIET, QUIET, BROKEN)
    broken: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()

    def show(snapshot: Snapshot) -> None:
        if "pods" in snapshot.unread and not broken.done():
            broken.set_result(snapshot)

    async with (
        scripted(*lists, *watches, failure(503, "ServiceUnavailable")) as (_, client),
        asyncio.timeout(30),
        asyncio.TaskGroup() as group,
    ):
        following = group.create_task(follow(client, CommandTarget(namespace="team"), 0.01, show))
        found = await broken
        following.cancel()
    shown = plain(status_view(status_report(found), all_namespaces=True))
    begins = "pods: not followed at the moment, what is shown may be old: "
    # The table shows the last cause: of the stream that broke, or of the attempt after it.
    causes = ("the server closed the", "503 ServiceUnavailable")
    assert any(f"{begins}{cause}" in shown for cause in causes), shown
