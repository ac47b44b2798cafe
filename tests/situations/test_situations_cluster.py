"""What kubectl shows in each situation is written in a file, word for word.

`make situations` writes the files again. Ages, times, UIDs, hashes and numbers of other nodes are
replaced by words.
"""

import asyncio
import os
from pathlib import Path

import pytest

from backend_controllers.contract.declaration import Backend
from backend_controllers.default import BACKEND as DEFAULT
from backend_controllers.kai import BACKEND as KAI
from backend_controllers.settings import BackendSettings
from backend_controllers.volcano import BACKEND as VOLCANO
from tests.backends.kit import backend_settings, running_backend
from tests.core.kit import running_operator
from tests.situations.acts import SITUATIONS
from tests.situations.theatre import Theatre

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

GOLDEN = Path(__file__).parent / "golden"
WRITES = os.environ.get("GOLDEN") == "write"
SECONDS = 90.0
_STABLE = 6


@pytest.mark.parametrize("name", SITUATIONS)
async def test_kubectl_shows_what_is_wrong_and_what_to_do(theatre: Theatre, name: str) -> None:
    act, noticed = SITUATIONS[name]
    cluster, file = theatre.cluster, GOLDEN / f"{name}.txt"
    async with (
        running_operator(cluster),
        running_backend(cluster, DEFAULT, _fast(DEFAULT)),
        running_backend(cluster, KAI, _fast(KAI)),
        running_backend(cluster, VOLCANO, _fast(VOLCANO)),
        act(theatre),
    ):
        shown = ""
        if WRITES:
            shown = await _settled(theatre, noticed)
            await asyncio.to_thread(file.write_text, shown)
        expected = await asyncio.to_thread(file.read_text)
        deadline = asyncio.get_running_loop().time() + SECONDS
        while shown != expected and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.5)  # kubectl is what a person looks with, and it has no event
            shown = await theatre.shown()
        assert shown == expected


def _fast(backend: Backend) -> BackendSettings:
    return backend_settings(backend.options(), silent_after_seconds=3.0, refused_again_seconds=1.0)


async def _settled(theatre: Theatre, noticed: str) -> str:
    """What is shown once it has been noticed and does not change any more."""
    shown, same = "", 0
    async with asyncio.timeout(SECONDS):
        while noticed not in shown or same < _STABLE:
            await asyncio.sleep(0.5)
            now = await theatre.shown()
            same = same + 1 if now == shown else 0
            shown = now
    return shown
