"""A gang as a RemoteGang, and the progress of the RemoteGang as the scheduler's message.

The RemoteGang is written once all members exist, since resources are reserved for the pods as they
are. The gang is programmed when the far side granted resources for its minimum; then core removes
the gates, and the executor binds and starts the pods. A gang that was granted stays programmed, also
while it waits for the resources of a pod that was replaced.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from backend_controllers.contract.cliques import cliques_of, missing_clique
from backend_controllers.contract.declaration import (
    Awaits,
    Facts,
    Rendered,
    Report,
    Translation,
    pack_of,
)
from backend_controllers.contract.pack_requests import Scope, pack_requests
from backend_controllers.contract.remarks import no_reservations
from backend_controllers.contract.remote.api import (
    FINALIZER,
    REMOTE_GANGS,
    ObservedRemoteGang,
    RemoteClique,
)
from backend_controllers.contract.remote.executor import Outcome
from backend_controllers.contract.remote.unsupported import unsupported
from shared_api import names
from shared_api.durations import duration_of
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.models import JsonObject, RemoteMemberState, RemotePhase

_GRANTED = frozenset({RemotePhase.GRANTED, RemotePhase.STARTED})
_HOSTS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class RemoteTranslator:
    """The translation and the mirror of one backend with a far side."""

    scheduler: str
    """What the backend is called in messages."""
    grant_seconds: int
    refuses: Callable[[Mapping[str, object]], Iterator[str]] = unsupported
    """Yields what the far side cannot honour of a pod template."""
    has_reservations: bool = False
    """Whether the far side can run a gang in the reservation of another one."""

    def translate(self, gang: ObservedPodGang, facts: Facts) -> Translation:
        """Return the RemoteGang of a gang, or all reasons to reject the gang."""
        cliques = cliques_of(gang, facts, RemoteClique)
        if missing := missing_clique(gang, cliques):
            return Translation(lacks=f"PodClique {missing}")
        if refusals := tuple(self._refusals(gang, cliques)):
            return Translation(refusals=refusals)
        remarks = () if self.has_reservations else tuple(no_reservations(gang, self.scheduler))
        if waiting := _incomplete(gang, facts.pods):
            return Translation(remarks=remarks, awaits=waiting)
        remote = _remote_of(facts)
        rendered = Rendered(REMOTE_GANGS, self._manifest(gang, facts.pods))
        reason, message = _waits_for(remote)
        return Translation((rendered,), remarks=remarks, awaits=message, awaits_reason=reason)

    def mirror(self, gang: ObservedPodGang, facts: Facts) -> Report:
        """Return what the far side reports about a gang."""
        del gang
        remote = _remote_of(facts)
        if remote is None:
            return Report()
        status = remote.status
        lost = sorted(
            {member.host for member in status.members if member.state is RemoteMemberState.UNKNOWN}
        )
        remarks: tuple[str, ...] = ()
        if lost:
            more = f" and {len(lost) - _HOSTS_SHOWN} more" if len(lost) > _HOSTS_SHOWN else ""
            remarks = (
                f"hosts {', '.join(lost[:_HOSTS_SHOWN])}{more} cannot be reached: pods there are"
                " in an unknown state and may still run",
            )
        return Report(status.reason or "", status.message or "", remarks=remarks)

    def _refusals(self, gang: ObservedPodGang, cliques: dict[str, RemoteClique]) -> Iterator[str]:
        for name, clique in cliques.items():
            for found in self.refuses(clique.spec.pod_spec):
                yield f"PodClique {name}: {found}"
            if clique.spec.starts_after:
                yield f"PodClique {name}: startsAfter: there is no start-up order there"
        reference = gang.spec.reuse_reservation_ref if self.has_reservations else None
        if reference is not None and reference.namespace not in ("", gang.metadata.namespace):
            yield "spec.reuseReservationRef.namespace: it must be the gang's own namespace"
        for request in pack_requests(gang):
            if request.pack.required and request.scope is not Scope.GANG:
                yield (
                    f"{request.title} cannot be packed by {request.pack.required} alone."
                    " Set the level for the whole gang"
                )

    def _manifest(self, gang: ObservedPodGang, pods: tuple[Pod, ...]) -> JsonObject:
        by_name = {pod.metadata.name: pod for pod in pods}
        spec: JsonObject = {
            "backend": gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND, ""),
            "grantSeconds": self.grant_seconds,
            "groups": [
                {
                    "name": group.name,
                    "minReplicas": group.min_replicas,
                    "pods": [
                        pod.metadata.name
                        for pod in sorted(
                            (
                                by_name[reference.name]
                                for reference in group.pod_references
                                if reference.name in by_name
                            ),
                            key=lambda pod: (pod.index or 0, pod.metadata.name),
                        )
                    ],
                }
                for group in gang.spec.podgroups
            ],
        }
        if longest := _max_runtime(gang):
            spec["maxRuntimeSeconds"] = longest
        if self.has_reservations and gang.spec.reuse_reservation_ref is not None:
            spec["reservation"] = gang.spec.reuse_reservation_ref.name
        pack = pack_of(gang.spec.topology_constraint)
        if not pack.is_empty:
            levels = {"required": pack.required, "preferred": pack.preferred}
            spec["pack"] = {key: level for key, level in levels.items() if level}
        return {
            "apiVersion": REMOTE_GANGS.api_version,
            "kind": REMOTE_GANGS.kind,
            "metadata": {"name": gang.metadata.name, "finalizers": [FINALIZER]},
            "spec": spec,
        }


def _max_runtime(gang: ObservedPodGang) -> int:
    """Return the longest that a gang runs in seconds; 0 if that is not known."""
    text = gang.metadata.annotations.get(names.ANNOTATION_MAX_RUNTIME, "")
    longest = duration_of(text)
    return max(1, math.ceil(longest.total_seconds())) if longest is not None else 0


def _incomplete(gang: ObservedPodGang, pods: tuple[Pod, ...]) -> str:
    """Return which members are missing; empty if all exist."""
    indexes: dict[str, set[int]] = {group.name: set() for group in gang.spec.podgroups}
    groups = {
        reference.name: group.name
        for group in gang.spec.podgroups
        for reference in group.pod_references
    }
    for pod in pods:
        if pod.index is not None:
            indexes[groups[pod.metadata.name]].add(pod.index)
    wanted = sum(group.min_replicas for group in gang.spec.podgroups)
    found = sum(
        len(indexes[group.name].intersection(range(group.min_replicas)))
        for group in gang.spec.podgroups
    )
    return "" if found == wanted else f"{found}/{wanted} members exist"


def _remote_of(facts: Facts) -> ObservedRemoteGang | None:
    found = facts.owned(REMOTE_GANGS)
    return found[0] if found and isinstance(found[0], ObservedRemoteGang) else None


def _waits_for(remote: ObservedRemoteGang | None) -> tuple[Awaits, str]:
    """Return why a gang is not programmed; an empty message if it is."""
    if remote is None:
        return Awaits.EVENT, "resources are requested"
    status = remote.status
    if status.phase in _GRANTED:
        return Awaits.EVENT, ""
    message = status.message or f"attempt {status.attempt} to reserve resources"
    match status.reason:
        case Outcome.CAPACITY:
            return Awaits.CAPACITY, message
        case Outcome.INVALID:
            return Awaits.REJECTED, message
        case _:
            return Awaits.EVENT, message
