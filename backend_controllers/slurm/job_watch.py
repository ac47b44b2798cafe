"""What Slurm has for this backend, kept in memory by asking regularly.

Slurm offers no watch over REST. Jobs are asked for with the time of the last answer, so a controller
without changes answers in a few bytes; the whole list is read every half minute, because clocks may
differ. While something is expected the interval is short. Nodes are read less often. A server that does
not answer twice is unreachable, and every pod is in an unknown state until it answers again.

The controller forgets a job minutes after its end. What ended between two polls is read once from the
accounting, where there is one, before anything is decided.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

import structlog

from backend_controllers.contract.remote.executor import ExecutorError, HostOffer, RemoteUnit
from backend_controllers.slurm.client import SlurmClient
from backend_controllers.slurm.dialects import NodeRecord
from backend_controllers.slurm.mapping import FEATURE_PREFIX
from backend_controllers.slurm.options import SlurmOptions
from backend_controllers.slurm.units import SlurmJob, jobs_of, units_of
from shared_api.kube.metadata import ObjectKey
from shared_api.models import RemoteMemberState
from shared_api.runtime.clock import Clock

log = structlog.stdlib.get_logger(__name__)
_WHOLE_LIST_SECONDS = 30.0
_NODES_SECONDS = 15.0
_FAILED_POLLS = 2
_OVERLAP_SECONDS = 2


class JobWatch:
    """The jobs and nodes of one Slurm."""

    def __init__(
        self,
        client: SlurmClient,
        options: SlurmOptions,
        backend: str,
        changed: Callable[[ObjectKey], None],
        clock: Clock,
    ) -> None:
        self._client = client
        self._options = options
        self._backend = backend
        self._changed = changed
        self._clock = clock
        self.jobs: dict[int, SlurmJob] = {}
        self.nodes: dict[str, NodeRecord] = {}
        self.problem = "has not answered yet"
        self.expects = 0
        """How many callers wait for a change."""
        self._synced = asyncio.Event()
        self._polled = asyncio.Condition()
        self._hurry = asyncio.Event()
        self._failures = 0
        self._is_completing = False
        self._whole_at = -_WHOLE_LIST_SECONDS
        self._nodes_at = -_NODES_SECONDS
        self._clock_difference: int | None = None
        """Seconds by which Slurm's clock is ahead, as far as it is known."""
        self._since = 0
        self._ended: dict[int, SlurmJob] = {}
        """Jobs that only the accounting knows."""
        self._gone: set[int] = set()
        """Jobs that were released and are over; Slurm still lists them."""

    async def wait_synced(self) -> None:
        """Wait until Slurm was asked once."""
        await self._synced.wait()

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            await self._poll()
            self._synced.set()
            async with self._polled:
                self._polled.notify_all()
            self._hurry.clear()
            seconds = self._options.poll_seconds
            if not self._is_awaiting:
                try:
                    async with asyncio.timeout(self._options.idle_poll_seconds):
                        await self._hurry.wait()
                except TimeoutError:
                    continue
            await asyncio.sleep(seconds)

    async def next_poll(self) -> None:
        """Wait until Slurm was asked again."""
        self._hurry.set()
        async with self._polled:
            await self._polled.wait()

    async def refresh(self) -> None:
        """Read the whole list now; raise ExecutorError if that fails."""
        self._whole_at = -_WHOLE_LIST_SECONDS
        await self._read()

    def hosts(self) -> tuple[HostOffer, ...]:
        """All nodes; those that take no new jobs have nothing."""
        if not self.nodes:
            return (HostOffer("slurmctld", {}, {}, {}, self.problem),) if self.problem else ()
        return tuple(self._offer(node) for node in self.nodes.values())

    def units(self, gang: ObjectKey) -> tuple[RemoteUnit, ...]:
        """The units of gangs of this name."""
        found = tuple(unit for job in self.of_gang(gang) for unit in units_of(job, self.nodes))
        if self.problem:
            return tuple(replace(unit, state=RemoteMemberState.UNKNOWN) for unit in found)
        return found

    def of_gang(self, gang: ObjectKey) -> list[SlurmJob]:
        """The jobs of gangs of this name, without those that were released."""
        return [
            job
            for number, job in self.jobs.items()
            if _key(job) == gang and number not in self._gone
        ]

    def gangs(self) -> frozenset[ObjectKey]:
        """All gangs that have units."""
        return frozenset(
            _key(job)
            for number, job in self.jobs.items()
            if number not in self._gone and units_of(job, self.nodes)
        )

    def compare_clocks(self, sent_at: datetime, submitted: int) -> None:
        """Learn from a submission how far Slurm's clock differs from ours."""
        if submitted:
            self._clock_difference = submitted - int(sent_at.timestamp())

    def has_left(self, job: SlurmJob) -> bool:
        """Tell whether anything of a job is left: the job itself, or processes on its nodes."""
        found = self.jobs.get(job.id)
        if found is not None and not found.is_over:
            return True
        hosts = (self.nodes.get(host) for host in job.hosts)
        return any(host is not None and host.is_completing for host in hosts)

    def show(self, job: SlurmJob) -> None:
        """Remember what a job has become by an own call."""
        self.jobs[job.id] = job
        self._changed(_key(job))

    def forget(self, job: SlurmJob) -> None:
        """Count a job as released."""
        self._gone.add(job.id)
        self._ended.pop(job.id, None)
        self._changed(_key(job))

    @property
    def _is_awaiting(self) -> bool:
        return self.expects > 0 or (
            any(job.is_waiting for job in self.jobs.values()) and not self.problem
        )

    async def _poll(self) -> None:
        try:
            if self.problem:
                # Nodes first: they fail if the controller is down, which the accounting does not.
                await self.read_nodes()
                await self._read_ended()
            await self._read()
            now = self._clock.monotonic()
            if now - self._nodes_at >= _NODES_SECONDS or self._is_completing:
                await self.read_nodes()
        except ExecutorError as error:
            self._failures += 1
            log.warning("Slurm does not answer", error=str(error), failures=self._failures)
            if self._failures >= _FAILED_POLLS or not self._synced.is_set():
                self._lose(str(error))
            return
        self._failures = 0
        if self.problem:
            log.info("Slurm answers", jobs=len(self.jobs), nodes=len(self.nodes))
            self.problem = ""
            self._announce(self.jobs.values())

    async def read_nodes(self) -> None:
        """Read all nodes now."""
        nodes = await self._client.nodes()
        self._is_completing = any(node.is_completing for node in nodes)
        self.nodes = {node.name: node for node in nodes}
        self._nodes_at = self._clock.monotonic()

    async def _read_ended(self) -> None:
        options = self._options
        since = self._clock.utc().timestamp() - options.accounting_hours * 3600
        users = {options.user, *(queue.user for queue in options.queues if queue.user)}
        try:
            records = await self._client.ended_jobs(int(since), sorted(users))
        except ExecutorError as error:
            # Its database may be down while jobs run as ever.
            log.warning("the accounting of Slurm does not answer", error=str(error))
            return
        found = jobs_of(records, options.cluster, self._backend)
        self._ended = {n: job for n, job in found.items() if n not in self._gone}
        self._whole_at = -_WHOLE_LIST_SECONDS

    async def _read(self) -> None:
        now = self._clock.monotonic()
        is_whole = now - self._whole_at >= _WHOLE_LIST_SECONDS
        asked_at, difference = int(self._clock.utc().timestamp()), self._clock_difference
        whole = is_whole or difference is None
        records = await self._client.jobs(0 if whole else self._since + (difference or 0))
        self._since = asked_at - _OVERLAP_SECONDS
        if whole:
            self._whole_at = now
        if records is None:
            return
        before = self.jobs
        listed = jobs_of(records, self._options.cluster, self._backend)
        found = {**self._ended, **listed}
        self.jobs = {
            number: replace(job, last_hosts=before[number].hosts) if number in before else job
            for number, job in found.items()
        }
        self._gone &= self.jobs.keys()
        if before != self.jobs:
            self._nodes_at = -_NODES_SECONDS
        known = {**before, **self.jobs}
        self._announce(
            job for number, job in known.items() if before.get(number) != self.jobs.get(number)
        )

    def _offer(self, node: NodeRecord) -> HostOffer:
        labels = {f"{FEATURE_PREFIX}{name}": "true" for name in sorted(node.features)}
        for level, domains in self._options.topology.items():
            if rack := sorted(node.features.intersection(domains)):
                labels[level] = rack[0]
        if not node.is_usable:
            return HostOffer(node.name, {}, {}, labels, self.problem)
        total = {"cpu": node.cpus * 1000, "memory": node.memory}
        free = {
            "cpu": (node.cpus - node.used_cpus) * 1000,
            "memory": node.memory - node.used_memory,
        }
        for resource, name in self._options.gpu_resources.items():
            if count := node.gres.get(name, 0):
                total[resource] = count
                free[resource] = count - (node.used_gres or {}).get(name, 0)
        return HostOffer(node.name, total, free, labels, self.problem)

    def _lose(self, problem: str) -> None:
        was_reachable, self.problem = not self.problem, problem
        self._client.forget_dialect()
        if was_reachable:
            self._announce(self.jobs.values())

    def _announce(self, jobs: Iterable[SlurmJob]) -> None:
        for gang in {_key(job) for job in jobs}:
            self._changed(gang)


def _key(job: SlurmJob) -> ObjectKey:
    return ObjectKey(job.tag.gang.namespace, job.tag.gang.name)


def addresses_of(jobs: Iterable[SlurmJob], names: Mapping[str, str]) -> dict[str, str]:
    """Return the nodes of pods that have one, by name; `names` are the pods by digest."""
    return {
        names[digest]: host
        for job in jobs
        if job.is_granted
        for digest, host in zip(job.tag.digests, job.hosts, strict=False)
        if digest in names
    }
