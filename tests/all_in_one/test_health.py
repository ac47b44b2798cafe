"""What the supervisor's pages say about the programs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from prometheus_client import CollectorRegistry

from all_in_one.children import Child
from all_in_one.health import Health
from shared_api.runtime.clock import SYSTEM
from shared_api.runtime.serving.server import Address, Server

CORE = Child("core", (), "127.0.0.1", 1)


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.clock = replace(SYSTEM, monotonic=lambda: self.now)


@asynccontextmanager
async def pages(problem: list[str | None]) -> AsyncIterator[Child]:
    """A program whose readiness is the last entry of a list."""
    ready = {"watch": lambda: problem[-1]}
    async with Server(Address("127.0.0.1", 0), CollectorRegistry(), live={}, ready=ready) as made:
        yield replace(CORE, port=made.port)


async def test_the_pod_is_ready_when_its_programs_are() -> None:
    problem: list[str | None] = ["is silent"]
    async with pages(problem) as child:
        health = Health([child])
        assert health.ready()["core"]() == "has not answered yet"
        await health.ask(child)
        assert health.ready()["core"]() == "/readyz returns 503"
        problem.append(None)
        await health.ask(child)
        assert health.ready()["core"]() is None
    await health.ask(child)
    assert str(health.ready()["core"]()).startswith("does not answer: ")


async def test_a_program_that_falls_silent_is_not_alive() -> None:
    hands = Hands()
    async with pages([None]) as child:
        health = Health([child], hands.clock)
        alive = health.live()["core"]
        hands.now += 90
        assert alive() is None, "it may still be starting"
        hands.now += 1
        assert alive() == "has not answered for 91 s"
        await health.ask(child)
        hands.now += 30
        assert alive() is None
        hands.now += 1
        assert alive() == "has not answered for 31 s"
