"""One container: its process, its probes and its restarts.

It owns the container's view (see status.py) and changes it through `show` only, which notifies
the pod. A cancelled `run` stops the process within the grace that the pod allows and leaves the
view as Terminated; a process without a `run` does not exist.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from local_cluster.api import Object
from local_cluster.process_node import logs
from local_cluster.process_node.backoff import next_delay, restarts
from local_cluster.process_node.environment import ContainerConfigError, plan_command
from local_cluster.process_node.probes import ProbeKind
from local_cluster.process_node.probing import ProbeOutcome, ProbeTarget, attempt, probe_until
from local_cluster.process_node.processes import Launch, Process
from local_cluster.process_node.services import Services
from local_cluster.process_node.status import ContainerView, Running, TerminatedState, Waiting

CONFIG_RETRY_SECONDS = 1.0
# A hook that used up the grace must not cost the process its SIGTERM.
GRACE_AFTER_HOOK = 2.0


class Host(Protocol):
    """What a container needs from its pod."""

    services: Services
    ip: str

    def launch(self, container: Object) -> tuple[Launch, Path]:
        """The process to start and the container's root; raises ConfigError."""

    def log_file(self, container: str) -> Path:
        """Where the output goes."""

    def lock_file(self, container: str) -> Path:
        """What keeps a container from running twice."""

    def grace(self) -> float:
        """How long a process may take to stop when it is cancelled now."""

    def grace_of_spec(self) -> float:
        """How long a process may take to stop for a restart."""

    def changed(self) -> None:
        """A view is not what it was."""

    def event(self, kind: str, reason: str, message: str) -> None:
        """Record an event for users."""


@dataclass(frozen=True, slots=True)
class _Run:
    process: Process
    launch: Launch
    root: Path


class Container:
    """One container of a running pod."""

    def __init__(self, host: Host, spec: Object, view: ContainerView, policy: str) -> None:
        self._host = host
        self._spec = spec
        self._policy = policy
        self._process: Process | None = None
        self.view = view
        self.started = asyncio.Event()

    async def run(self) -> bool:
        """Run until the restart policy starts no further process; return whether it succeeded."""
        if isinstance(self.view.state, TerminatedState):
            if not restarts(self._policy, self.view.state.exit_code):
                return self.view.state.exit_code == 0
            self.show(state=Waiting("ContainerCreating"), last=self.view.state)
        delay = 0.0
        loop = asyncio.get_running_loop()
        while True:
            launch, root = await self._prepare()
            began = loop.time()
            ended = await self._run_once(launch, root)
            if not restarts(self._policy, ended.exit_code):
                return ended.exit_code == 0
            delay = next_delay(delay, loop.time() - began)
            await self._back_off(delay, ended)

    def show(self, **changes: Any) -> None:
        """Change the view."""
        self.view = replace(self.view, **changes)
        self._host.changed()

    def kill(self) -> None:
        """End the process, if there is one, without grace."""
        if self._process is not None:
            self._process.drop()

    async def _prepare(self) -> tuple[Launch, Path]:
        while True:
            try:
                return self._host.launch(self._spec)
            except ContainerConfigError as error:
                self.show(state=Waiting("CreateContainerConfigError", str(error)))
                self._host.event("Warning", "Failed", f"{self.view.name}: {error}")
            await asyncio.sleep(CONFIG_RETRY_SECONDS)

    async def _back_off(self, delay: float, ended: TerminatedState) -> None:
        text = f"back-off {delay:.0f}s restarting container {self.view.name}"
        self.show(state=Waiting("CrashLoopBackOff", text), last=ended)
        self._host.event("Warning", "BackOff", f"{text}, which ended with {ended.exit_code}")
        await asyncio.sleep(delay)

    async def _run_once(self, launch: Launch, root: Path) -> TerminatedState:
        clock = self._host.services.clock
        self._process = process = await self._start(launch)
        identity, since = f"process://{process.pid}", clock()
        self._show_running(identity)
        run = _Run(process, launch, root)
        unhealthy: ProbeKind | None = None
        try:
            unhealthy = await self._supervise(run)
        finally:
            try:
                await self._stop(run, self._grace(unhealthy))
            finally:
                code = process.exit_code
                reason = "Error" if code else "Completed"
                ended = TerminatedState(
                    code, reason, since, clock(), self._last_words(code), identity
                )
                self.started.clear()
                self.show(state=ended, ready=False, started=False)
        return ended

    async def _start(self, launch: Launch) -> Process:
        log = logs.rotate(self._host.log_file(self.view.name))
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            lock = self._host.lock_file(self.view.name)
            return await Process.start(launch, output=output, lock=lock)
        finally:
            os.close(output)

    def _show_running(self, identity: str) -> None:
        state = Running(self._host.services.clock())
        count = self.view.restarts + (self.view.last is not None)
        self.show(state=state, restarts=count, container_id=identity, started=False, ready=False)
        self._host.event("Normal", "Started", f"Started container {self.view.name}")
        if ProbeKind.STARTUP.value not in self._spec:
            self._show_started()

    def _show_started(self) -> None:
        self.show(started=True, ready=ProbeKind.READINESS.value not in self._spec)
        self.started.set()

    async def _supervise(self, run: _Run) -> ProbeKind | None:
        """Wait for the end of the process, or for a probe that wants it to end."""
        async with asyncio.TaskGroup() as group:
            ended = group.create_task(run.process.wait())
            probes = group.create_task(self._probe(self._target(run)))
            await asyncio.wait({ended, probes}, return_when=asyncio.FIRST_COMPLETED)
            unhealthy = None if ended.done() else probes.result()
            ended.cancel()
            probes.cancel()
        return unhealthy

    def _target(self, run: _Run) -> ProbeTarget:
        return ProbeTarget(
            container=self._spec,
            ip=self._host.ip,
            command=lambda words: plan_command(words, self._spec, run.root, run.launch),
            http=self._host.services.http,
        )

    async def _probe(self, target: ProbeTarget) -> ProbeKind:
        """Probe until the container has to be restarted; return the failed probe."""
        if ProbeKind.STARTUP.value in self._spec:
            decided = lambda outcome: outcome.healthy is not None  # noqa: E731
            if not await self._follow(ProbeKind.STARTUP, target, decided):
                return ProbeKind.STARTUP
            self._show_started()
        async with asyncio.TaskGroup() as group:
            readiness = group.create_task(
                self._follow(ProbeKind.READINESS, target, self._note_ready)
            )
            await self._follow(ProbeKind.LIVENESS, target, lambda outcome: not outcome.healthy)
            readiness.cancel()
        return ProbeKind.LIVENESS

    async def _follow(
        self, kind: ProbeKind, target: ProbeTarget, enough: Callable[[ProbeOutcome], bool]
    ) -> bool | None:
        if kind.value not in self._spec:
            # A probe that the container does not have never ends.
            await asyncio.Event().wait()
            return None

        def noted(outcome: ProbeOutcome) -> bool:
            if outcome.problem is not None:
                text = f"{kind.name.capitalize()} probe failed: {outcome.problem}"
                self._host.event("Warning", "Unhealthy", text)
            return enough(outcome)

        return (await probe_until(kind, target, noted)).healthy

    def _note_ready(self, outcome: ProbeOutcome) -> bool:
        if outcome.healthy is not self.view.ready:
            self.show(ready=outcome.healthy)
        return False

    def _grace(self, unhealthy: ProbeKind | None) -> float:
        if unhealthy is None:
            return self._host.grace()
        text = f"Container {self.view.name} failed its {unhealthy.value}, it will be restarted"
        self._host.event("Normal", "Killing", text)
        own = self._spec[unhealthy.value].get("terminationGracePeriodSeconds")
        return self._host.grace_of_spec() if own is None else float(own)

    async def _stop(self, run: _Run, grace: float) -> None:
        if not run.process.running:
            return
        self._host.event("Normal", "Killing", f"Stopping container {self.view.name}")
        self.show(ready=False)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        try:
            if hook := self._spec.get("lifecycle", {}).get("preStop"):
                await self._before_stop(hook, run, grace)
                deadline = max(deadline, loop.time() + GRACE_AFTER_HOOK)
        finally:
            await run.process.stop(deadline - loop.time())

    async def _before_stop(self, hook: Object, run: _Run, grace: float) -> None:
        if "sleep" in hook:
            await asyncio.sleep(min(hook["sleep"]["seconds"], grace))
            return
        if problem := await attempt(hook, self._target(run), grace):
            self._host.event("Warning", "FailedPreStopHook", problem)

    def _last_words(self, code: int) -> str:
        if code == 0 or self._spec.get("terminationMessagePolicy") != "FallbackToLogsOnError":
            return ""
        return logs.tail(self._host.log_file(self.view.name))
