"""The output of pods, read from the files that their steps write into the spool directory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from backend_controllers.contract.remote.executor import ExecutorError, LogOptions, Outcome

_PIECE = 65536
_LOOK_SECONDS = 0.5


async def pieces(
    mount: str | None, name: str, options: LogOptions, is_running: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """Yield the content of a file, and what is appended to it if that is wanted."""
    if mount is None:
        message = "the output of pods is not kept. Set options.spoolDirectory and spoolMount"
        raise ExecutorError(Outcome.INVALID, message)
    path = Path(mount) / name
    offset = 0
    if options.tail is not None:
        offset = await asyncio.to_thread(_start_of_tail, path, options.tail)
    goes_on = options.follow
    while True:
        # Asked before the file is read: what a pod writes at its end must not be missed.
        goes_on = goes_on and is_running()
        piece = await asyncio.to_thread(_read, path, offset)
        if piece:
            offset += len(piece)
            yield piece
        elif not goes_on:
            return
        else:
            await asyncio.sleep(_LOOK_SECONDS)


def _read(path: Path, offset: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(_PIECE)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ExecutorError(Outcome.TRANSIENT, f"cannot read {path.name}: {error}") from error


def _start_of_tail(path: Path, lines: int) -> int:
    """Return where the last lines begin; at most the last 8 MiB are searched."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(0, size - 128 * _PIECE)
            file.seek(start)
            content = file.read()
    except OSError:
        return 0
    if lines <= 0:
        return size
    place = len(content)
    if content.endswith(b"\n"):
        place -= 1
    for _ in range(lines):
        place = content.rfind(b"\n", 0, place)
        if place < 0:
            return start
    return start + place + 1
