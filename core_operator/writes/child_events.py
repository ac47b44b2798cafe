"""Events about what was created, deleted and refused, with the reasons that Grove gives.

Grove records one for each object at every reconcile. Here it is one for each kind and only when
something was created, deleted or refused, so that a set of thousands of objects does not flood its
namespace. An Event about deleted pods names the reason and no pod: the steps of an update are then
one Event with a count, and do not use up the budget of the PodClique.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from core_operator.context import CoreContext
from core_operator.plan.manifests.compute_domains import COMPUTE_DOMAINS
from core_operator.state.caches import CLIQUES
from shared_api.kube.errors import ApiError, ErrorAction, Forbidden, Invalid, classify
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS
from shared_api.models import (
    KubeObject,
    PodClique,
    PodCliqueScalingGroup,
    PodCliqueSet,
    PodGang,
)
from shared_api.runtime.watching.owners import owner_in

EVENT_PODS_CREATED = "PodCreateSuccessful"
EVENT_PODS_REFUSED = "PodCreateFailed"
EVENT_PODS_DELETED = "PodDeleteSuccessful"
EVENT_POD_DELETION_REFUSED = "PodDeleteFailed"
EVENT_SET_PODCLIQUES_CREATED = "PodCliqueCreateOrUpdateSuccessful"
EVENT_PODCLIQUES_CREATED = "PodCliqueCreateSuccessful"
EVENT_SET_PODCLIQUES_REFUSED = "PodCliqueCreateOrUpdateFailed"
EVENT_PODCLIQUES_REFUSED = "PodCliqueCreateFailed"
EVENT_PODCLIQUES_DELETED = "PodCliqueDeleteSuccessful"
EVENT_PODCLIQUE_DELETION_REFUSED = "PodCliqueDeleteFailed"
EVENT_GROUPS_CREATED = "PodCliqueScalingGroupCreateSuccessful"
EVENT_GROUPS_REFUSED = "PodCliqueScalingGroupCreateOrUpdateFailed"
EVENT_GROUPS_DELETED = "PodCliqueScalingGroupDeleteSuccessful"
EVENT_GROUP_DELETION_REFUSED = "PodCliqueScalingGroupDeleteFailed"
EVENT_GANGS_CREATED = "PodGangCreateOrUpdateSuccessful"
EVENT_GANGS_REFUSED = "PodGangCreateOrUpdateFailed"
EVENT_GANGS_DELETED = "PodGangDeleteSuccessful"
EVENT_GANG_DELETION_REFUSED = "PodGangDeleteFailed"
EVENT_GROUP_REPLICA_DELETED = "PodCliqueScalingGroupReplicaDeleteSuccessful"
EVENT_SET_REPLICA_DELETED = "PodCliqueSetReplicaDeleteSuccessful"
EVENT_DOMAINS_CREATED = "ComputeDomainCreateSuccessful"
EVENT_DOMAINS_REFUSED = "ComputeDomainCreateFailed"
EVENT_DOMAINS_DELETED = "ComputeDomainDeleteSuccessful"
EVENT_DOMAIN_DELETION_REFUSED = "ComputeDomainDeleteFailed"

_CREATED = {
    PODS.kind: EVENT_PODS_CREATED,
    PodClique.KIND: EVENT_PODCLIQUES_CREATED,
    PodCliqueScalingGroup.KIND: EVENT_GROUPS_CREATED,
    PodGang.KIND: EVENT_GANGS_CREATED,
    COMPUTE_DOMAINS.kind: EVENT_DOMAINS_CREATED,
}
_DELETED = {
    PodClique.KIND: EVENT_PODCLIQUES_DELETED,
    PodCliqueScalingGroup.KIND: EVENT_GROUPS_DELETED,
    PodGang.KIND: EVENT_GANGS_DELETED,
    COMPUTE_DOMAINS.kind: EVENT_DOMAINS_DELETED,
}
_WRITE_REFUSED = {
    PODS.kind: EVENT_PODS_REFUSED,
    PodClique.KIND: EVENT_PODCLIQUES_REFUSED,
    PodCliqueScalingGroup.KIND: EVENT_GROUPS_REFUSED,
    PodGang.KIND: EVENT_GANGS_REFUSED,
    COMPUTE_DOMAINS.kind: EVENT_DOMAINS_REFUSED,
}
_DELETION_REFUSED = {
    PODS.kind: EVENT_POD_DELETION_REFUSED,
    PodClique.KIND: EVENT_PODCLIQUE_DELETION_REFUSED,
    PodCliqueScalingGroup.KIND: EVENT_GROUP_DELETION_REFUSED,
    PodGang.KIND: EVENT_GANG_DELETION_REFUSED,
    COMPUTE_DOMAINS.kind: EVENT_DOMAIN_DELETION_REFUSED,
}
# PodCliques of a set itself have other reasons than those of a scaling group.
_OF_SETS = {
    EVENT_PODCLIQUES_CREATED: EVENT_SET_PODCLIQUES_CREATED,
    EVENT_PODCLIQUES_REFUSED: EVENT_SET_PODCLIQUES_REFUSED,
}
_NAMED = 3


class ChildEvents:
    """What one reconcile created and deleted, and what the server refused."""

    def __init__(self) -> None:
        self._created: dict[str, list[str]] = defaultdict(list)
        self._deleted: dict[str, list[str]] = defaultdict(list)
        self._refused: dict[str, str] = {}

    def created(self, child: str) -> None:
        """Note that an object was created, by its kind and name."""
        kind, _, name = child.partition(" ")
        self._created[kind].append(name)

    def deleted(self, child: str) -> None:
        """Note that an object was deleted, by its kind and name."""
        kind, _, name = child.partition(" ")
        self._deleted[kind].append(name)

    @contextmanager
    def writing(self, child: str) -> Iterator[None]:
        """Note it if the server refuses to create or change an object in the block."""
        try:
            yield
        except ApiError as error:
            self._note_refusal(_WRITE_REFUSED, child, f"{child} is refused", error)
            raise

    @contextmanager
    def deleting(self, child: str) -> Iterator[None]:
        """Note it if the server refuses to delete an object in the block."""
        try:
            yield
        except ApiError as error:
            self._note_refusal(_DELETION_REFUSED, child, f"deletion of {child} is refused", error)
            raise

    def record(self, context: CoreContext, about: KubeObject, owner: str = "") -> None:
        """Record the Events, and forget them; kinds for which Grove has no reason are left out.

        `owner` is the kind of the object that controls the children.
        """
        for verb, reasons, noted in (
            ("Created", _CREATED, self._created),
            ("Deleted", _DELETED, self._deleted),
        ):
            for kind, found in noted.items():
                if kind in reasons:
                    reason = _reason(reasons[kind], owner)
                    context.record_event(about, reason, f"{verb} {_listed(kind, found)}")
            noted.clear()
        for reason, note in self._refused.items():
            context.record_event(about, _reason(reason, owner), note, warning=True)
        self._refused.clear()

    def _note_refusal(
        self, reasons: dict[str, str], child: str, what: str, error: ApiError
    ) -> None:
        kind = child.partition(" ")[0]
        if kind in reasons and _is_refusal(error):
            self._refused.setdefault(reasons[kind], f"{what}: {error}")


class PodDeletions:
    """Pods that are deleted for one reason, perhaps those of several PodCliques."""

    def __init__(self, context: CoreContext, why: str) -> None:
        self._context = context
        self._why = why
        self._deleted: dict[str, PodClique] = {}
        self._refused: dict[str, tuple[PodClique, ChildEvents]] = {}

    @contextmanager
    def deleting(self, pod: Pod) -> Iterator[None]:
        """Note that a pod is deleted in the block, or that the server refuses that."""
        found = owner_in(self._context.view.caches.cliques, CLIQUES, pod)
        if found is None:
            yield
            return
        uid, clique = found.object.metadata.uid or "", found.object
        _, events = self._refused.setdefault(uid, (clique, ChildEvents()))
        with events.deleting(f"{PODS.kind} {pod.metadata.name}"):
            yield
        self._deleted[uid] = clique

    def record(self) -> None:
        """Record the Events about the PodCliques."""
        for clique in self._deleted.values():
            note = f"Deleted pods, reason {self._why}"
            self._context.record_event(clique, EVENT_PODS_DELETED, note)
        for clique, events in self._refused.values():
            events.record(self._context, clique)


def record_replica_deletion(
    context: CoreContext, pcs: PodCliqueSet, subject: str, *, is_of_set: bool
) -> None:
    """Record that a replica of a set, or of one of its scaling groups, was deleted."""
    reason = EVENT_SET_REPLICA_DELETED if is_of_set else EVENT_GROUP_REPLICA_DELETED
    context.record_event(pcs, reason, f"Deleted {subject}")


def _is_refusal(error: ApiError) -> bool:
    """Tell whether the server refuses; a namespace that is being deleted and a quota are no failures."""
    if isinstance(error, Forbidden):
        return not error.exceeded_quota and classify(error) is not ErrorAction.WAIT_FOR_EVENT
    return isinstance(error, Invalid)


def _reason(reason: str, owner: str) -> str:
    return _OF_SETS.get(reason, reason) if owner == PodCliqueSet.KIND else reason


def _listed(kind: str, found: list[str]) -> str:
    shown = ", ".join(found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{kind}{'s' if len(found) > 1 else ''} {shown}{more}"
