"""The frames in which an engine sends both outputs of a container over one connection.

A frame is a header of eight bytes, with the output and the length, and its content. The log is read in
pieces of a bounded size, whatever length a frame claims.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

_HEADER = struct.Struct(">BxxxL")
_PIECE = 64 * 1024


async def pieces_of(read: Callable[[int], Awaitable[bytes]]) -> AsyncIterator[bytes]:
    """Yield the content of all frames; `read` returns exactly so many bytes."""
    length = 0
    try:
        while True:
            if not length:
                _, length = _HEADER.unpack(await read(_HEADER.size))
                continue
            piece = await read(min(length, _PIECE))
            length -= len(piece)
            yield piece
    except asyncio.IncompleteReadError as error:
        if length and error.partial:
            yield error.partial
