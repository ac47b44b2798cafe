"""One pod on the process node, from the first sight of it to its deletion.

It owns the order of things: volumes before init containers before containers, sidecars around
them, and at the end processes before the API object. Observations come in through `observe`
and `vanished`; status goes out through a Reporter. Cancelling `run` is the shutdown of the
process node: processes stop, the API object stays.
"""

import asyncio
from pathlib import Path

from local_cluster.api import Object
from local_cluster.process_node import logs
from local_cluster.process_node.addresses import HOST
from local_cluster.process_node.adoption import adopt, adopted_start
from local_cluster.process_node.containers import Container
from local_cluster.process_node.environment import ContainerConfigError, PodFacts, plan_launch
from local_cluster.process_node.processes import Launch
from local_cluster.process_node.projection import refusals
from local_cluster.process_node.reporting import StatusReporter
from local_cluster.process_node.services import Services
from local_cluster.process_node.status import PodView, Waiting, pod_status
from local_cluster.process_node.tokens import Tokens, token_request
from local_cluster.process_node.volumes import Volumes

MOUNT_RETRY_SECONDS = 10.0
# Also a guard against a clock that stood still, as that of a closed laptop.
LONGEST_REFRESH_SECONDS = 60.0
SHORTEST_REFRESH_SECONDS = 5.0
FORCED_GRACE = 1.0


class Pod:
    """A pod that is bound to this node."""

    def __init__(self, services: Services, pod: Object) -> None:
        self.services = services
        self.observed = pod
        self.gone = asyncio.Event()
        spec, status = pod["spec"], pod.get("status", {})
        self._uid: str = pod["metadata"]["uid"]
        self.ip = HOST if spec.get("hostNetwork") else services.addresses.take(self._uid)
        tokens = Tokens(token_request(services.api, pod), services.clock)
        self._volumes = Volumes(services.root / "pods" / self._uid, tokens)
        self._since = adopted_start(status, services.clock())
        self._finished = status.get("phase") in ("Succeeded", "Failed")
        self._mounted = self._initialized = self._over = False
        self._reporter = StatusReporter(services.api, pod, self._status)
        self._init = [self._container(c, "initContainerStatuses") for c in self._init_specs()]
        self._main = [self._container(c, "containerStatuses") for c in spec["containers"]]
        self._kill_at: float | None = None
        self._ending = asyncio.Event()
        self._stale = asyncio.Event()
        self.observe(pod)

    def observe(self, pod: Object) -> None:
        """Take note of a newer version of the pod."""
        self.observed = pod
        self._stale.set()
        if "deletionTimestamp" in pod["metadata"]:
            self._end(pod["metadata"].get("deletionGracePeriodSeconds", 0))
        self.changed()

    def vanished(self) -> None:
        """Take note that the API server has no such pod any more."""
        self.gone.set()
        self._end(FORCED_GRACE)

    async def run(self) -> None:
        """Run the pod until it is deleted."""
        try:
            async with asyncio.TaskGroup() as group:
                if not self._finished:
                    reporter = group.create_task(self._reporter.run())
                    life = group.create_task(self._live())
                    await self._ending.wait()
                    life.cancel()
                    await asyncio.wait({life})
                    reporter.cancel()
                await self._ending.wait()
        finally:
            self.services.addresses.give_back(self._uid)
        if not self.gone.is_set():
            if not self._finished:
                self._over = True
                await self._reporter.send()
            await self._reporter.delete()
            # A finalizer may keep the pod. Then only waiting is left.
            await self.gone.wait()
        self._volumes.remove()

    def changed(self) -> None:
        """Report the status again: it may be stale."""
        self._reporter.touch()

    def event(self, kind: str, reason: str, message: str) -> None:
        """Record an event about the pod."""
        self.services.events.record(self.observed, kind, reason, message)

    def launch(self, container: Object) -> tuple[Launch, Path]:
        """How to start a container now, and its root; raises ConfigError."""
        root = self._volumes.mount(container)
        launch = plan_launch(container, root, self._facts())
        launch.cwd.mkdir(parents=True, exist_ok=True)
        return launch, root

    def log_file(self, container: str) -> Path:
        """Where a container's output goes."""
        metadata = self.observed["metadata"]
        return logs.log_file(
            self.services.root, metadata["namespace"], metadata["name"], self._uid, container
        )

    def lock_file(self, container: str) -> Path:
        """The lock that a container's process holds."""
        return self._volumes.lock(container)

    def grace(self) -> float:
        """Seconds that a process may take to stop from now on."""
        if self._kill_at is None:
            return min(self.grace_of_spec(), self.services.shutdown_grace)
        return max(0.0, self._kill_at - asyncio.get_running_loop().time())

    def grace_of_spec(self) -> float:
        """Seconds that a process may take to stop by default."""
        return float(self.observed["spec"].get("terminationGracePeriodSeconds", 30))

    def _init_specs(self) -> list[Object]:
        specs: list[Object] = self.observed["spec"].get("initContainers", [])
        return specs

    def _container(self, spec: Object, field: str) -> Container:
        statuses = self.observed.get("status", {}).get(field, [])
        policy = self.observed["spec"].get("restartPolicy", "Always")
        if field == "initContainerStatuses" and policy == "Always":
            policy = "OnFailure"
        view = adopt(spec, statuses, self.services.clock())
        return Container(self, spec, view, spec.get("restartPolicy", policy))

    def _end(self, grace: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        if self._kill_at is not None:
            if deadline >= self._kill_at:
                return
            # Containers stop by the first deadline that they got; this one is sooner.
            loop.call_at(deadline, self._kill)
        self._kill_at = deadline
        self._ending.set()

    def _kill(self) -> None:
        for container in (*self._main, *self._init):
            container.kill()

    async def _live(self) -> None:
        if problems := refusals(self.observed):
            self._refuse(problems)
            return
        namespace = self.observed["metadata"]["namespace"]
        with self.services.config_maps.listening(namespace, self._stale.set):
            await self._mount()
            async with asyncio.TaskGroup() as group:
                keeper = group.create_task(self._keep_volumes())
                await self._run_containers()
                keeper.cancel()
        self._over = True
        self.changed()

    def _refuse(self, problems: list[str]) -> None:
        text = "; ".join(problems)
        for container in (*self._init, *self._main):
            container.show(state=Waiting("CreateContainerConfigError", text))
        reason = "FailedMount" if text.startswith("volume") else "Failed"
        self.event("Warning", reason, text)

    async def _mount(self) -> None:
        while not self._mounted:
            try:
                await self._volumes.refresh(self._facts())
                self._mounted = True
            except ContainerConfigError as error:
                self.event("Warning", "FailedMount", str(error))
                await self._until_stale(MOUNT_RETRY_SECONDS)
        self.changed()

    async def _keep_volumes(self) -> None:
        while True:
            due = max(self._volumes.seconds_to_renewal(), SHORTEST_REFRESH_SECONDS)
            await self._until_stale(min(due, LONGEST_REFRESH_SECONDS))
            try:
                await self._volumes.refresh(self._facts())
            except ContainerConfigError as error:
                self.event("Warning", "FailedMount", str(error))

    async def _until_stale(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stale.wait()
        except TimeoutError:
            return
        self._stale.clear()

    async def _run_containers(self) -> None:
        async with asyncio.TaskGroup() as group:
            sidecars = []
            for spec, container in zip(self._init_specs(), self._init, strict=True):
                if spec.get("restartPolicy") == "Always":
                    sidecars.append(group.create_task(container.run()))
                    await container.started.wait()
                elif await container.run():
                    container.show(ready=True)
                else:
                    break
            else:
                self._initialized = True
                self.changed()
                async with asyncio.TaskGroup() as mains:
                    for container in self._main:
                        mains.create_task(container.run())
            for sidecar in sidecars:
                sidecar.cancel()

    def _facts(self) -> PodFacts:
        namespace = self.observed["metadata"]["namespace"]
        config_maps = self.services.config_maps.of(namespace)
        return PodFacts(self.observed, self.ip, HOST, config_maps, self.services.machine)

    def _status(self, sent: Object) -> Object:
        view = PodView(
            ip=self.ip,
            host_ip=HOST,
            since=self._since,
            init_containers=tuple(container.view for container in self._init),
            containers=tuple(container.view for container in self._main),
            mounted=self._mounted,
            initialized=self._initialized,
            over=self._over,
            terminating=self._ending.is_set(),
        )
        return pod_status(self.observed, view, sent, self.services.clock())
