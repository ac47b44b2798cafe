"""The end of one program is the end of all, and none is left behind."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from all_in_one.children import Child
from all_in_one.supervisor import supervise

_POLITE = """
import pathlib, signal, sys
def stop(*_):
    pathlib.Path(sys.argv[1]).with_suffix(".stopped").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
pathlib.Path(sys.argv[1]).write_text(str(__import__("os").getpid()))
while True: signal.pause()
"""
_STUBBORN = """
import pathlib, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1]).write_text(str(__import__("os").getpid()))
while True: signal.pause()
"""


def child(name: str, code: str, *words: str) -> Child:
    return Child(name, (sys.executable, "-c", code, *words), "127.0.0.1", 1)


def polite(mark: Path) -> Child:
    return child(mark.name, _POLITE, str(mark))


async def written(mark: Path) -> int:
    """The process that wrote its number there, once it has."""
    async with asyncio.timeout(60):
        while not _text(mark):  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
    return int(_text(mark))


def _text(mark: Path) -> str:
    return mark.read_text() if mark.exists() else ""


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


async def test_on_a_signal_all_programs_stop_in_their_own_way(tmp_path: Path) -> None:
    stopping, marks = asyncio.Event(), [tmp_path / "a", tmp_path / "b"]
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(supervise([polite(mark) for mark in marks], stopping))
        pids = [await written(mark) for mark in marks]
        stopping.set()
    assert running.result() == 0
    assert all(mark.with_suffix(".stopped").exists() for mark in marks)
    assert not any(map(lives, pids))


@pytest.mark.parametrize(("ends_with", "code"), [(3, 3), (0, 1)])
async def test_a_program_that_ends_takes_the_others_with_it(
    tmp_path: Path, ends_with: int, code: int
) -> None:
    mark = tmp_path / "other"
    # It ends once the other one can be told to.
    waits = (
        "import pathlib, sys, time\n"
        f"while not pathlib.Path({str(mark)!r}).exists(): time.sleep(0.01)\n"
    )
    ends = child("ends", f"{waits}sys.exit({ends_with})")
    async with asyncio.timeout(60):
        assert await supervise([polite(mark), ends], asyncio.Event()) == code
    assert not lives(await written(mark))
    assert mark.with_suffix(".stopped").exists()


async def test_a_program_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    stopping, mark = asyncio.Event(), tmp_path / "stubborn"
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        stubborn = child("stubborn", _STUBBORN, str(mark))
        running = group.create_task(supervise([stubborn], stopping, grace=0.2))
        pid = await written(mark)
        stopping.set()
    assert running.result() == 128 + signal.SIGKILL
    assert not lives(pid)


async def test_a_supervisor_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "a"
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = group.create_task(supervise([polite(mark)], asyncio.Event()))
        pid = await written(mark)
        running.cancel()
    assert not lives(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
async def test_a_supervisor_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "a"
    code = (
        "import asyncio\n"
        "from all_in_one.supervisor import supervise\n"
        "from tests.all_in_one.test_supervisor import polite\n"
        "import pathlib, sys\n"
        "asyncio.run(supervise([polite(pathlib.Path(sys.argv[1]))], asyncio.Event()))\n"
    )
    root = Path(__file__).parents[2]
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(mark), cwd=root
    )
    try:
        pid = await written(mark)
    finally:
        supervisor.kill()
        await supervisor.wait()
    async with asyncio.timeout(60):
        while lives(pid):  # noqa: ASYNC110 - the kernel tells nobody
            await asyncio.sleep(0.01)
