"""The far side of this backend: one Slurm.

Reserving submits one job for all pods of an order and waits until Slurm gave it nodes; a job that waits
too long is cancelled, since queueing is no grant. The job's script starts nothing before its comment
has the command, and ends by itself when the grant expires. `JobWatch` keeps what Slurm has in memory.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace

import structlog

from backend_controllers.contract.remote.executor import (
    ExecutorError,
    HostOffer,
    LogOptions,
    Order,
    Outcome,
    RemoteUnit,
    identified,
    pod_digest,
    unresolved,
)
from backend_controllers.slurm.client import SlurmClient
from backend_controllers.slurm.dialects import ReservationRecord, Submission
from backend_controllers.slurm.job_watch import JobWatch, addresses_of
from backend_controllers.slurm.mapping import SlurmPlan, holding, planned, shortage
from backend_controllers.slurm.options import SlurmOptions
from backend_controllers.slurm.script import Setting, policy_letter, script_of
from backend_controllers.slurm.spool import pieces
from backend_controllers.slurm.tags import WAIT, JobTag
from backend_controllers.slurm.tokens import Tokens
from backend_controllers.slurm.units import SlurmJob, slot_of, used_nodes
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import SYSTEM, Clock
from shared_api.runtime.watching.channel import Channel

log = structlog.stdlib.get_logger(__name__)
_RELEASE_SECONDS = 60.0


class SlurmExecutor:
    """One Slurm."""

    def __init__(self, options: SlurmOptions, backend: str, clock: Clock = SYSTEM) -> None:
        self.changed: Channel[ObjectKey] = Channel("Slurm")
        self._options = options
        self._backend = backend
        self._clock = clock
        self.client = SlurmClient(options, Tokens(options, clock))
        self._watch = JobWatch(self.client, options, backend, self.changed.send, clock)
        self._reserving: set[int] = set()
        """Jobs that a call of `reserve` waits for."""
        self._uncertain: set[ObjectKey] = set()
        """Gangs of which a submission got no answer."""
        self._pods: dict[str, tuple[str, str]] = {}
        """Name and UID of the pods of this process, by what stands for the UID."""

    async def run(self) -> None:
        """Observe Slurm until cancelled."""
        async with self.client, asyncio.TaskGroup() as group:
            group.create_task(self._watch.run())
            group.create_task(self._cancel_forgotten())

    async def wait_synced(self) -> None:
        """Wait until Slurm was asked once."""
        await self._watch.wait_synced()

    def hosts(self) -> tuple[HostOffer, ...]:
        """The nodes, as they were last read."""
        return self._watch.hosts()

    def units(self, gang: ObjectKey) -> tuple[RemoteUnit, ...]:
        """What exists for gangs of this name, sorted by pod."""
        found = (
            replace(unit, pod=name, pod_uid=uid)
            for unit in self._watch.units(gang)
            for name, uid in (self._pods.get(unit.pod_uid, (unit.pod, unit.pod_uid)),)
        )
        return tuple(sorted(found, key=lambda unit: (unit.pod, slot_of(unit))))

    def gangs(self) -> tuple[ObjectKey, ...]:
        """All gangs for which something exists."""
        return tuple(sorted(self._watch.gangs()))

    def loss(self, gang: ObjectKey) -> str:
        """How the last job of a gang ended that was started."""
        ended = [
            job for job in self._watch.of_gang(gang) if job.has_ended and not job.tag.is_waiting
        ]
        return max(ended, key=lambda job: job.id).ending() if ended else ""

    async def reserve(self, order: Order) -> None:
        """Get nodes for all pods of an order, or for none."""
        gang = ObjectKey(order.tag.namespace, order.tag.name)
        if self._watch.problem:
            raise ExecutorError(Outcome.TRANSIENT, f"Slurm: {self._watch.problem}")
        if gang in self._uncertain:
            # The last submission may have arrived: look before another one.
            await self._watch.refresh()
            self._uncertain.discard(gang)
        jobs = [job for job in self._watch.of_gang(gang) if job.tag.gang == order.tag]
        self._know(order)
        existing = {
            unit.pod_uid
            for unit in identified(self._watch.units(gang), order.pods)
            if unit.tag == order.tag
        }
        pods = tuple(pod for pod in order.pods if pod.metadata.uid not in existing)
        if not pods:
            return
        wanted = replace(order, pods=pods)
        nodes = tuple(self._watch.nodes.values())
        plan = planned(wanted, self._options, nodes, used_nodes(jobs))
        job = self._adopted(jobs, plan) or await self._submit(wanted, plan, jobs, gang)
        await self._granted(job, plan)

    async def start(self, units: tuple[RemoteUnit, ...]) -> None:
        """Let the scripts of these units start them."""
        for job, slots in self._by_job(units):
            if any(job.tag.commands[slot] == WAIT for slot in slots):
                await self._comment(job, job.tag.started(slots))

    async def release(self, units: tuple[RemoteUnit, ...], grace_seconds: int = 0) -> None:
        """Cancel the jobs of these units, or drop single pods from a job that goes on."""
        del grace_seconds
        if units and self._watch.problem:
            raise ExecutorError(Outcome.TRANSIENT, f"Slurm: {self._watch.problem}")
        cancelled: list[SlurmJob] = []
        for job, slots in self._by_job(units):
            if job.is_over:
                self._watch.forget(job)
            elif job.was_requeued or job.tag.live <= set(slots):
                await self.client.cancel(job.id, self._user_of(job))
                cancelled.append(job)
            elif job.tag.live & set(slots):
                await self._comment(job, job.tag.dropped(slots))
        await self._until_ended(cancelled)

    async def renew(self) -> None:
        """Do nothing: Slurm ends jobs by their time limit, and no job is started elsewhere."""

    def logs(self, unit: RemoteUnit, options: LogOptions) -> AsyncIterator[bytes]:
        """The output of a unit, from the spool directory."""
        job, slot = slot_of(unit)
        gang = ObjectKey(unit.tag.namespace, unit.tag.name)

        def is_running() -> bool:
            return any(
                found.external_id == unit.external_id and found.exit_code is None
                for found in self._watch.units(gang)
            )

        return pieces(self._options.spool_mount, f"{job}.{slot}.log", options, is_running)

    def _by_job(self, units: Iterable[RemoteUnit]) -> list[tuple[SlurmJob, list[int]]]:
        found: dict[int, list[int]] = {}
        for unit in units:
            job, slot = slot_of(unit)
            found.setdefault(job, []).append(slot)
        known = self._watch.jobs
        return [(known[job], slots) for job, slots in found.items() if job in known]

    def _know(self, order: Order) -> None:
        for pod in order.pods:
            metadata = pod.metadata
            self._pods[unresolved(pod_digest(metadata.uid))] = (metadata.name, metadata.uid)

    def _adopted(self, jobs: list[SlurmJob], plan: SlurmPlan) -> SlurmJob | None:
        """Return the job of an earlier submission of the same pods, of which the answer was lost."""
        wanted = tuple(pod_digest(pod.metadata.uid) for pod in plan.pods)
        return next(
            (
                job
                for job in jobs
                if not job.has_ended and job.tag.is_waiting and job.tag.digests == wanted
            ),
            None,
        )

    async def _submit(
        self, order: Order, plan: SlurmPlan, jobs: list[SlurmJob], gang: ObjectKey
    ) -> SlurmJob:
        tag = JobTag(
            self._options.cluster,
            self._backend,
            order.tag,
            order.attempt,
            "".join(policy_letter(pod) for pod in plan.pods),
            tuple(one.pods for one in plan.components),
            tuple(f"{pod.metadata.name}:{pod.metadata.uid}" for pod in plan.pods),
            WAIT * len(plan.pods),
        ).shortened()
        names = {key.rpartition(":")[2]: name for key, (name, _) in self._pods.items()}
        known = addresses_of(jobs, names)
        setting = Setting(tag.title, order.grant_seconds, order.ranks, known)
        environment = {"PATH": self._options.path, **self._options.environment}
        submission = Submission(
            plan.user,
            tag.title,
            tag.text(),
            plan.components,
            script_of(plan, self._options, setting),
            tuple(environment.items()),
            self._options.working_directory,
        )
        self._uncertain.add(gang)
        sent_at = self._clock.utc()
        try:
            number = await self.client.submit(submission)
        except ExecutorError as error:
            if error.outcome is not Outcome.AMBIGUOUS:
                self._uncertain.discard(gang)
            if error.outcome is Outcome.CAPACITY:
                raise await self._no_capacity(plan, str(error)) from error
            raise
        self._uncertain.discard(gang)
        self._reserving.add(number)
        try:
            job = await self._appeared(number)
        except BaseException:
            self._reserving.discard(number)
            raise
        self._watch.compare_clocks(sent_at, job.parts[0].submitted)
        return job

    async def _appeared(self, number: int) -> SlurmJob:
        """Wait until a job that was submitted is listed."""
        with self._expecting():
            async with self._deadline(Outcome.AMBIGUOUS, f"job {number} is not listed"):
                while number not in self._watch.jobs:
                    await self._watch.next_poll()
        return self._watch.jobs[number]

    async def _granted(self, job: SlurmJob, plan: SlurmPlan) -> None:
        """Wait until Slurm granted a job; cancel it if that takes too long."""
        self._reserving.add(job.id)
        reason = ""
        try:
            with self._expecting():
                until = self._clock.monotonic() + self._options.reserve_seconds
                while not job.is_granted:
                    if job.has_ended:
                        raise ExecutorError(Outcome.TRANSIENT, job.ending())
                    if self._clock.monotonic() > until:
                        break
                    await self._watch.next_poll()
                    if self._watch.problem:
                        raise ExecutorError(Outcome.AMBIGUOUS, f"Slurm: {self._watch.problem}")
                    job = self._watch.jobs.get(job.id, job)
                    reason = next((p.reason for p in job.parts if p.is_waiting), reason)
            if not job.is_granted:
                await self.client.cancel(job.id, self._user_of(job))
                await self._until_ended([job])
                raise await self._no_capacity(plan, reason)
            if not job.hosts:
                await self.client.cancel(job.id, self._user_of(job))
                sizes = ", ".join(f"{part.nodes or 'no node'}" for part in job.parts)
                wanted = ", ".join(str(one.pods) for one in plan.components)
                message = f"Slurm gave job {job.id} the nodes {sizes} instead of {wanted} nodes"
                raise ExecutorError(Outcome.INVALID, message)
        finally:
            self._reserving.discard(job.id)

    async def _no_capacity(self, plan: SlurmPlan, reason: str) -> ExecutorError:
        found: list[ReservationRecord] = []
        with contextlib.suppress(ExecutorError):
            await self._watch.read_nodes()
            found = await self.client.reservations()
        nodes = tuple(self._watch.nodes.values())
        text = shortage(plan.components, nodes, reason, holding(plan.components, found, nodes))
        return ExecutorError(Outcome.CAPACITY, text)

    async def _comment(self, job: SlurmJob, tag: JobTag) -> None:
        text = tag.text()
        await self.client.comment(job.id, text, self._user_of(job))
        parts = tuple(replace(part, comment=text) for part in job.parts)
        self._watch.show(replace(job, tag=tag, parts=parts))

    async def _until_ended(self, jobs: list[SlurmJob]) -> None:
        """Wait until nothing of these jobs is left."""
        with self._expecting():
            for job in jobs:
                async with self._deadline(Outcome.AMBIGUOUS, f"job {job.id} does not end"):
                    while self._watch.has_left(job):
                        await self._watch.next_poll()
                self._watch.forget(job)

    async def _cancel_forgotten(self) -> None:
        """Cancel jobs that wait for nodes and that no call of this process waits for.

        They are left by a process that ended, or Slurm requeued them: nothing would start them. A gang
        that is wanted adopts its job before that.
        """
        await self.wait_synced()
        seen: dict[int, float] = {}
        while True:
            now = self._clock.monotonic()
            waiting = [
                job
                for job in self._watch.jobs.values()
                if (job.is_waiting and job.id not in self._reserving)
                or (job.was_requeued and not job.is_over)
            ]
            seen = {job.id: seen.get(job.id, now) for job in waiting}
            for job in waiting:
                if job.was_requeued or now - seen[job.id] >= self._options.reserve_seconds:
                    await self._cancel_quietly(job)
            await asyncio.sleep(self._options.idle_poll_seconds)

    async def _cancel_quietly(self, job: SlurmJob) -> None:
        log.info("cancelling a job that no call waits for", job=job.id, gang=job.tag.title)
        try:
            await self.client.cancel(job.id, self._user_of(job))
        except ExecutorError as error:
            log.warning("cannot cancel a job", job=job.id, error=str(error))

    def _user_of(self, job: SlurmJob) -> str:
        return job.parts[0].user or self._options.user

    @contextlib.contextmanager
    def _expecting(self) -> Iterator[None]:
        self._watch.expects += 1
        try:
            yield
        finally:
            self._watch.expects -= 1

    @contextlib.asynccontextmanager
    async def _deadline(self, outcome: Outcome, message: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(_RELEASE_SECONDS):
                yield
        except TimeoutError as error:
            raise ExecutorError(outcome, f"Slurm: {message} in {_RELEASE_SECONDS:g} s") from error
