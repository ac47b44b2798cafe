"""The jobs of this backend as units, one for each pod. Pure.

A job that ended before its start is no unit: its grant is gone. A pod whose job was lost, and which
Kubernetes would restart, is no unit any more either, so it gets a new reservation. Any other pod keeps
the way in which it ended.
"""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from backend_controllers.contract.remote.executor import RemoteUnit
from backend_controllers.slurm.dialects import JobRecord, NodeRecord
from backend_controllers.slurm.hostlists import hosts_of
from backend_controllers.slurm.script import EXPIRED
from backend_controllers.slurm.tags import DROP, END, WAIT, JobTag, PodReport, reports_of, tag_of
from shared_api.models import RemoteMemberState

_SIGNALLED = 128
_LOST = 255


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job of ours with all its components, in their order."""

    tag: JobTag
    parts: tuple[JobRecord, ...]
    last_hosts: tuple[str, ...] = ()
    """Its nodes before Slurm took them away."""

    @property
    def id(self) -> int:
        """The ID that stands for all components."""
        return self.parts[0].id

    @property
    def is_waiting(self) -> bool:
        """Tell whether a component has no nodes yet."""
        return not self.was_requeued and any(part.is_waiting for part in self.parts)

    @property
    def was_requeued(self) -> bool:
        """Tell whether Slurm put it back into the queue. Its pods are lost; its script does nothing."""
        return any(part.restarts for part in self.parts)

    @property
    def is_over(self) -> bool:
        """Tell whether Slurm is done with it."""
        return any(part.has_ended for part in self.parts)

    @property
    def has_ended(self) -> bool:
        """Tell whether its pods have ended."""
        return self.is_over or self.was_requeued

    @property
    def is_granted(self) -> bool:
        """Tell whether Slurm granted all components."""
        return not self.is_waiting and not self.has_ended

    @property
    def hosts(self) -> tuple[str, ...]:
        """The node of each pod; empty if the job has other sizes than it was given."""
        found: list[str] = []
        for part, size in zip(self.parts, self.tag.sizes, strict=False):
            nodes = hosts_of(part.nodes)
            if len(nodes) != size:
                return self.last_hosts
            found += nodes
        return tuple(found) if len(self.parts) == len(self.tag.sizes) else self.last_hosts

    @property
    def expired(self) -> bool:
        """Tell whether its script ended because it was not started in time."""
        return self.has_ended and self.parts[0].exit_status == EXPIRED

    def ending(self) -> str:
        """Return how it ended, in one line."""
        if self.was_requeued and not self.is_over:
            nodes = ",".join(self.last_hosts[:3]) or "its nodes"
            return f"Slurm lost job {self.id} on {nodes} and put it back into its queue"
        part = next((one for one in self.parts if one.has_ended), self.parts[0])
        took = f" after {part.ended - part.started} s" if 0 < part.started <= part.ended else ""
        reason = f" ({part.reason})" if part.reason not in ("", "None") else ""
        nodes = f" on {part.nodes}" if part.nodes else ""
        return f"Slurm job {self.id} ended as {part.state}{reason}{took}{nodes}"


def jobs_of(records: Iterable[JobRecord], cluster: str, backend: str) -> dict[int, SlurmJob]:
    """Return the jobs of one backend by ID."""
    found: dict[int, list[JobRecord]] = {}
    for record in records:
        found.setdefault(record.het_id or record.id, []).append(record)
    jobs: dict[int, SlurmJob] = {}
    for number, parts in found.items():
        ordered = tuple(sorted(parts, key=lambda part: part.het_offset))
        tag = tag_of(ordered[0].comment)
        if tag is not None and (tag.cluster, tag.backend) == (cluster, backend):
            jobs[number] = SlurmJob(tag, ordered)
    return jobs


def units_of(job: SlurmJob, nodes: Mapping[str, NodeRecord]) -> tuple[RemoteUnit, ...]:
    """Return what a job is for each of its pods."""
    if job.is_waiting or (job.expired and not job.was_requeued and not _has_begun(job)):
        return ()
    hosts = job.hosts
    if not hosts and job.was_requeued:
        hosts = ("unknown",) * len(job.tag.commands)
    if not hosts:
        return ()
    reports = reports_of(job.parts[0].name, len(hosts))
    found = (
        _unit(job, slot, host, report, nodes)
        for slot, (host, report) in enumerate(zip(hosts, reports, strict=True))
    )
    return tuple(unit for unit in found if unit is not None)


def slot_of(unit: RemoteUnit) -> tuple[int, int]:
    """Return the job and the slot of a unit."""
    job, _, slot = unit.external_id.partition(".")
    return (int(job), int(slot)) if job.isdecimal() and slot.isdecimal() else (0, 0)


def _has_begun(job: SlurmJob) -> bool:
    return any(report.has_begun for report in reports_of(job.parts[0].name, len(job.tag.commands)))


def _unit(
    job: SlurmJob, slot: int, host: str, report: PodReport, nodes: Mapping[str, NodeRecord]
) -> RemoteUnit | None:
    command, policy = job.tag.commands[slot], job.tag.policies[slot]
    has_ended = job.has_ended
    if command == WAIT and has_ended:
        return None
    if command == DROP or (command == END and (has_ended or report.exit_code is not None)):
        return None
    state, code, message = RemoteMemberState.RESERVED, report.exit_code, ""
    if command != WAIT:
        state = RemoteMemberState.RUNNING if code is None else RemoteMemberState.EXITED
    if has_ended:
        if policy == "A" or (policy == "O" and code != 0):
            return None
        state = RemoteMemberState.EXITED
        if code is None:
            code, message = _code(job), job.ending()
    part = job.parts[0]
    return RemoteUnit(
        job.tag.gang,
        *job.tag.identity(slot),
        host,
        f"{job.id}.{slot}",
        state,
        job.tag.attempt,
        _address(nodes.get(host)),
        "",
        code if state is RemoteMemberState.EXITED else None,
        report.restarts,
        _time(part.started) if command != WAIT else "",
        _time(part.ended) if has_ended else "",
        message,
    )


def _code(job: SlurmJob) -> int:
    """The exit code of a pod that never reported one: never 0."""
    part = next((one for one in job.parts if one.exit_status or one.signal), job.parts[0])
    if part.signal:
        return _SIGNALLED + part.signal
    return part.exit_status or _LOST


def _address(node: NodeRecord | None) -> str:
    """The IP of a node; a pod's status may not have a name there."""
    try:
        return str(ipaddress.ip_address(node.address)) if node is not None else ""
    except ValueError:
        return ""


def _time(seconds: int) -> str:
    if seconds <= 0:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def used_nodes(jobs: Sequence[SlurmJob]) -> frozenset[str]:
    """Return the nodes of jobs that are not over."""
    return frozenset(host for job in jobs if job.is_granted for host in job.hosts)
