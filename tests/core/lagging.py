"""A client whose watches of some kinds can be held up, or made to begin anew."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from shared_api.kube.client import Client
from shared_api.kube.errors import Gone, Status
from shared_api.kube.http.transport import Line
from shared_api.kube.resources import Resource


class Streams:
    """What happens to the watches of a client, as a test wants it."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        """Plurals of kinds whose watch began anew."""
        self._held: tuple[str, ...] = ()
        self._flowing = asyncio.Event()
        self._to_lose: set[str] = set()

    def hold(self, *plurals: str) -> None:
        """Let no event of these kinds arrive for the time being."""
        self._held = plurals
        self._flowing.clear()

    def let_go(self) -> None:
        """Let everything arrive that was held."""
        self._flowing.set()

    def lose(self, *plurals: str) -> None:
        """With their next event, have these watches told that their place is forgotten."""
        self._to_lose.update(plurals)

    def client_type(self) -> type[Client]:
        """A client whose watches go through here."""
        streams = self

        class Lagging(Client):
            """Hands its watches to a test."""

            def watch_batches(
                self, resource: Resource, namespace: str | None = None, **options: Any
            ) -> AsyncGenerator[list[Line], None]:
                batches = super().watch_batches(resource, namespace, **options)
                return streams.through(resource.plural, batches)

        return Lagging

    async def through(
        self, plural: str, batches: AsyncGenerator[list[Line], None]
    ) -> AsyncGenerator[list[Line], None]:
        """The batches of one watch, as late as they are to be."""
        async with contextlib.aclosing(batches):
            async for lines in batches:
                if plural in self._to_lose:
                    self._to_lose.remove(plural)
                    self.lost.append(plural)
                    raise Gone(Status(code=410, reason="Expired", message="said by a test"))
                if plural in self._held:
                    await self._flowing.wait()
                yield lines
