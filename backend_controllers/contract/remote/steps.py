"""Decides what to do next for a gang on the far side, as a pure function of what is known.

The order is: announce an attempt, reserve for all members at once, record the grant, bind the pods
once core has ungated them, start, observe, release. Every step is derived from the RemoteGang, the
pods and the units, so a process that is killed between two steps continues with the next one.

Two rules keep a gang from running twice. A unit is started only after the RemoteGang records its
host; a recorded unit on a host that cannot be reached counts as existing, in an unknown state. A
RemoteGang that is deleted keeps its finalizer until no unit is left, recorded ones included.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from backend_controllers.contract.remote.api import ObservedRemoteGang, RemotePod
from backend_controllers.contract.remote.executor import GangTag, RemoteUnit
from shared_api.models import RemoteMemberState, RemotePhase

_RESERVED = RemoteMemberState.RESERVED
_UNKNOWN = RemoteMemberState.UNKNOWN


@dataclass(frozen=True, slots=True)
class RemoteState:
    """All that is known about one gang."""

    remote: ObservedRemoteGang | None
    pods: Mapping[str, RemotePod]
    """The pods with the label of the gang, by name; those that terminate too."""
    units: tuple[RemoteUnit, ...]
    """What exists on the far side, with `recorded_units` of hosts that cannot be reached."""
    node: str
    """Name of the virtual node."""
    now: datetime


@dataclass(frozen=True, slots=True)
class Steps:
    """What to do now, in this order; most often only one part is not empty."""

    release: tuple[RemoteUnit, ...] = ()
    delete: tuple[RemotePod, ...] = ()
    """Terminating pods of the virtual node that have no unit any more."""
    reserve: tuple[RemotePod, ...] = ()
    bind: tuple[RemotePod, ...] = ()
    start: tuple[RemoteUnit, ...] = ()
    vanished: tuple[RemotePod, ...] = ()
    """Pods that ran, must not run again, and have no unit any more: they failed."""
    phase: RemotePhase = RemotePhase.PENDING
    announce: bool = False
    """Whether the number of a new attempt has to be recorded before `reserve`."""
    finalize: bool = False
    """Whether nothing is left, and the finalizer may go."""


def recorded_units(
    remote: ObservedRemoteGang, pods: Mapping[str, RemotePod], observed: frozenset[str]
) -> tuple[RemoteUnit, ...]:
    """Return the units that the RemoteGang records on hosts that are not observed at present."""
    tag = tag_of(remote)
    return tuple(
        RemoteUnit(
            tag,
            member.pod,
            pods[member.pod].metadata.uid if member.pod in pods else "",
            member.host,
            member.external_id or "",
            RemoteMemberState.UNKNOWN,
        )
        for member in remote.status.members
        if member.host not in observed
    )


def units_of_gang(
    remote: ObservedRemoteGang,
    pods: Mapping[str, RemotePod],
    found: tuple[RemoteUnit, ...],
    observed: frozenset[str],
) -> tuple[RemoteUnit, ...]:
    """Return what exists for a RemoteGang: what was found, and what is recorded on other hosts.

    A pod has one unit. Where several are found, that on the recorded host counts, so no host can
    take a pod over from another one. The others get no pod, and are released like those of an
    earlier RemoteGang of this name.
    """
    tag = tag_of(remote)
    # A far side that moves a unit itself, such as Slurm a job, keeps its external ID.
    known = {unit.external_id for unit in found}
    recorded = tuple(
        unit for unit in recorded_units(remote, pods, observed) if unit.external_id not in known
    )
    hosts = {member.pod: member.host for member in remote.status.members}
    counts: dict[str, RemoteUnit] = {}
    for unit in (*found, *recorded):
        if unit.tag == tag and (unit.pod_uid not in counts or unit.host == hosts.get(unit.pod)):
            counts[unit.pod_uid] = unit
    return tuple(
        unit if counts.get(unit.pod_uid) is unit else replace(unit, pod_uid="", state=_UNKNOWN)
        for unit in (*found, *recorded)
    )


def tag_of(remote: ObservedRemoteGang) -> GangTag:
    """Return the tag of a RemoteGang's units; the UID is that of the RemoteGang."""
    return GangTag(remote.metadata.namespace, remote.metadata.name, remote.metadata.uid)


def plan_steps(state: RemoteState) -> Steps:
    """Return what to do now for one gang."""
    remote = state.remote
    if remote is None or remote.metadata.is_terminating:
        return Steps(
            release=state.units,
            delete=() if state.units else _deletable(state, ()),
            phase=RemotePhase.RELEASING,
            finalize=not state.units,
        )
    return _Planner(state, remote).steps()


@dataclass(slots=True)
class _Planner:
    """The steps of a gang that is wanted."""

    state: RemoteState
    remote: ObservedRemoteGang
    by_uid: dict[str, RemoteUnit] = field(init=False)
    wanted: dict[str, RemotePod] = field(init=False)

    def __post_init__(self) -> None:
        self.by_uid = {unit.pod_uid: unit for unit in self.state.units}
        named = (self.state.pods.get(name) for name in self.remote.spec.pods)
        self.wanted = {
            pod.metadata.name: pod
            for pod in named
            if pod is not None and not pod.metadata.is_terminating
        }

    def steps(self) -> Steps:
        unneeded = self._unneeded()
        is_granted = self.remote.status.phase in (RemotePhase.GRANTED, RemotePhase.STARTED)
        missing = self._missing(self.remote.spec.members)
        if not is_granted and missing:
            return self._first_reservation(unneeded, missing)
        # One after the other: a surplus pod that does not fit must not keep a member waiting.
        reserve = missing or self._missing(self.remote.spec.pods)[:1]
        return Steps(
            release=unneeded,
            delete=_deletable(self.state, unneeded),
            reserve=() if self._must_wait else reserve,
            bind=self._to_bind(),
            start=self._to_start(),
            vanished=tuple(filter(_must_not_run_again, self._without_unit(self.wanted))),
            phase=self._phase(),
        )

    def _unneeded(self) -> tuple[RemoteUnit, ...]:
        uids = {pod.metadata.uid for pod in self.wanted.values()}
        return tuple(unit for unit in self.state.units if unit.pod_uid not in uids)

    def _missing(self, names: tuple[str, ...]) -> tuple[RemotePod, ...]:
        """Pods that have no resources and still need them."""
        return tuple(pod for pod in self._without_unit(names) if not _must_not_run_again(pod))

    def _without_unit(self, names: Iterable[str]) -> Iterator[RemotePod]:
        found = (self.wanted.get(name) for name in names)
        return (
            pod
            for pod in found
            if pod is not None and not pod.has_ended and pod.metadata.uid not in self.by_uid
        )

    def _first_reservation(
        self, unneeded: tuple[RemoteUnit, ...], missing: tuple[RemotePod, ...]
    ) -> Steps:
        """Reserve for all members at once; what an interrupted attempt left is released first."""
        left = tuple(unit for unit in self.state.units if unit.state is _RESERVED)
        members = tuple(
            self.wanted[name] for name in self.remote.spec.members if name in self.wanted
        )
        # A member that core is about to replace: the RemoteGang will name the other pod.
        is_complete = len(members) == len(self.remote.spec.members)
        ready = is_complete and not left and not self._must_wait
        return Steps(
            release=tuple(dict.fromkeys((*unneeded, *left))),
            delete=_deletable(self.state, unneeded),
            reserve=missing if ready else (),
            announce=ready,
        )

    @property
    def _retry_at(self) -> datetime | None:
        text = self.remote.status.retry_at
        return None if text is None else datetime.fromisoformat(text)

    @property
    def _must_wait(self) -> bool:
        at = self._retry_at
        return at is not None and self.state.now < at

    def _phase(self) -> RemotePhase:
        was_started = self.remote.status.phase is RemotePhase.STARTED
        if was_started or any(unit.state is not _RESERVED for unit in self.by_uid.values()):
            return RemotePhase.STARTED
        return RemotePhase.GRANTED

    def _to_bind(self) -> tuple[RemotePod, ...]:
        """Pods to bind: the members all at once, others when they have resources."""
        members = set(self.remote.spec.members)
        ready = {
            name: pod
            for name, pod in self.wanted.items()
            if not pod.is_gated and pod.metadata.uid in self.by_uid
        }
        if not members <= ready.keys():
            bound = any(self.wanted[name].spec.node_name for name in members & self.wanted.keys())
            if not bound:
                return ()
        return tuple(pod for pod in ready.values() if not pod.spec.node_name)

    def _to_start(self) -> tuple[RemoteUnit, ...]:
        recorded = {member.pod: member.host for member in self.remote.status.members}
        startable = tuple(
            unit
            for pod in self.wanted.values()
            if pod.spec.node_name == self.state.node
            and (unit := self.by_uid.get(pod.metadata.uid)) is not None
            and unit.state is _RESERVED
            and recorded.get(unit.pod) == unit.host
        )
        if self.remote.status.phase is RemotePhase.STARTED:
            return startable
        members = set(self.remote.spec.members)
        has_begun = any(
            unit.state is not _RESERVED and unit.pod in members for unit in self.by_uid.values()
        )
        together = members <= {unit.pod for unit in startable}
        return startable if together or has_begun else ()


def lost_pods(state: RemoteState) -> tuple[RemotePod, ...]:
    """Return pods that were started, have not ended, have no unit any more, and run again."""
    known = {unit.pod_uid for unit in state.units}
    return tuple(
        pod
        for pod in state.pods.values()
        if pod.spec.node_name == state.node
        and pod.metadata.uid not in known
        and not pod.metadata.is_terminating
        and not pod.has_ended
        and pod.status.phase
        and not _must_not_run_again(pod)
    )


def _must_not_run_again(pod: RemotePod) -> bool:
    """Tell whether a pod without a unit ran before, and its policy forbids a second run.

    A kubelet decides the same for a pod whose container was removed.
    """
    return pod.spec.restart_policy == "Never" and pod.status.phase == "Running"


def _deletable(state: RemoteState, releasing: tuple[RemoteUnit, ...]) -> tuple[RemotePod, ...]:
    busy = {unit.pod_uid for unit in (*state.units, *releasing)}
    return tuple(
        pod
        for pod in state.pods.values()
        if pod.metadata.is_terminating
        and pod.spec.node_name == state.node
        and pod.metadata.uid not in busy
    )
