"""Images that an engine pulls: in the background, since a pull may take longer than any deadline.

A gang that needs an image waits until it is there, and its RemoteGang shows how far the pull is. A
pull that failed is reported once; the next attempt begins it again.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from backend_controllers.docker.engine import Engine

log = structlog.stdlib.get_logger(__name__)
_LOOK_AGAIN_SECONDS = 5.0
_DONE = ("Pull complete", "Already exists", "Download complete")


@dataclass(slots=True)
class PullProgress:
    """What an engine reports about the layers of one image."""

    layers: dict[str, str] = field(default_factory=dict)
    received: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def add(self, line: Mapping[str, object]) -> None:
        """Note one line of the engine's report."""
        layer, status = str(line.get("id") or ""), str(line.get("status") or "")
        detail = line.get("progressDetail")
        if not layer or status.startswith("Pulling from"):
            return
        self.layers[layer] = status
        if status == "Downloading" and isinstance(detail, Mapping):
            current, total = detail.get("current"), detail.get("total")
            if isinstance(current, int) and isinstance(total, int):
                self.received[layer], self.sizes[layer] = current, total

    def __str__(self) -> str:
        if not self.layers:
            return "no layer yet"
        done = sum(status in _DONE for status in self.layers.values())
        text = f"{done} of {len(self.layers)} layers"
        if total := sum(self.sizes.values()):
            received = sum(
                size if self.layers[layer] in _DONE else self.received[layer]
                for layer, size in self.sizes.items()
            )
            text += f", {received / 2**20:.0f} of {total / 2**20:.0f} MiB"
        return text


class ImagePulls:
    """The pulls of one engine."""

    def __init__(self, host: str, engine: Engine) -> None:
        self._host = host
        self._engine = engine
        self._running: dict[str, tuple[asyncio.Task[None], PullProgress]] = {}

    async def ensure(self, image: str, *, may_pull: bool) -> None:
        """Return if the engine has an image; else begin to pull it, and raise what is awaited."""
        running = self._running.get(image)
        if running is not None and running[0].done():
            del self._running[image]
            # It raises why the pull failed.
            running[0].result()
        if await self._engine.has_image(image):
            return
        if not may_pull:
            message = f"image {image} is not on host {self._host}, and pullImages is false"
            raise ExecutorError(Outcome.INVALID, message)
        if image not in self._running:
            log.info("pulling an image", host=self._host, image=image)
            progress = PullProgress()
            pull = asyncio.ensure_future(self._engine.pull(image, progress.add))
            self._running[image] = pull, progress
            # A pull that fails at once, as for an unknown name, is reported at once.
            await asyncio.wait({pull}, timeout=_LOOK_AGAIN_SECONDS)
            if pull.done():
                await self.ensure(image, may_pull=may_pull)
                return
        message = f"host {self._host} pulls image {image}: {self._running[image][1]}"
        raise ExecutorError(Outcome.TRANSIENT, message, retry_after=_LOOK_AGAIN_SECONDS)

    def cancel(self) -> None:
        """Forget all pulls: the connection to the engine ends."""
        for pull, _ in self._running.values():
            pull.cancel()
        self._running.clear()
