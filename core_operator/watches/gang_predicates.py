"""Predicates of PodGangs and of the pods of a gang.

A gang is reconciled when it can make progress: its PodCliques are complete, its backend reported, a
pod was lost, or an object drifted. Writes of its own reconciler add no key. While its pods are
being created a gang waits, since one write then lists all of them. A binding adds a key only where
bound pods change what is done or reported about the gang.
"""

from core_operator.plan.pods.preparation import incarnation_of
from core_operator.plan.statuses.conditions import find
from core_operator.plan.walk.standing import REFUSALS
from core_operator.state.caches import BASE
from core_operator.state.expected_events import ExpectedEvents
from core_operator.state.view import View
from core_operator.watches import predicates
from core_operator.watches.keys import cliques_of_gang, gang_of
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.models import (
    Condition,
    MemberLost,
    PodClique,
    PodGang,
    PodGangStatus,
    ProgramsRelease,
    SchedulerBackendSpec,
    SurplusRelease,
)
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.watching.predicates import Watched, more_than_status

_WRITTEN_BY_CORE = frozenset(
    {
        names.CONDITION_BACKEND_SELECTED,
        names.CONDITION_INITIALIZED,
        names.CONDITION_RELEASED,
        names.CONDITION_COMPLETED,
        names.CONDITION_FAILED,
    }
)
_NO_STATUS = PodGangStatus()


class GangPredicates:
    """The predicates that look up other objects."""

    def __init__(self, view: View, expected_ungates: ExpectedEvents) -> None:
        self._view = view
        self._expected_ungates = expected_ungates

    def must_reconcile(self, old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
        """A gang changed, and its reconcile need not wait for its pods."""
        return gang_progressed(old, new) and not self._waits_for_pods(old, new)

    def may_wait_for_pods(self, old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
        """A gang changed, and the last of its first pods will cause a reconcile anyway."""
        return gang_progressed(old, new) and self._waits_for_pods(old, new)

    def pod_fills_gang(self, old: Pod | None, new: Pod | None) -> bool:
        """A pod appeared, and its PodClique still lacks pods."""
        return old is None and new is not None and self._lacks_pods_after(new)

    def pod_affects_gang(self, old: Pod | None, new: Pod | None) -> bool:
        """A PodClique is complete, a live pod is gone, or a pod drifted or was ungated."""
        if new is None:
            # A pod that had ended or was being deleted has caused a reconcile then.
            return old is not None and old.is_live
        if old is None:
            return not self._lacks_pods_after(new)
        if not old.is_live and not new.is_live:
            return False
        return predicates.pod_drifted(old, new) or self._was_ungated(old, new)

    def binding_affects_gang(self, old: Pod | None, new: Pod | None) -> bool:
        """A pod was bound or annotated, where something depends on bound pods."""
        if old is None or new is None or not (old.is_live or new.is_live):
            return False
        # A backend may add the annotation to drop after the pod is bound.
        return (
            old.spec.node_name != new.spec.node_name
            or old.metadata.annotations != new.metadata.annotations
        ) and self._depends_on_nodes(new)

    def _waits_for_pods(self, old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
        if new is None or (
            old is not None and (more_than_status(old, new) or not self._lacks_first_pods(new))
        ):
            return False
        pcs = self._view.set_of(new)
        return (
            self._view.caches.gangs.is_synced
            and pcs is not None
            and self._view.choice(pcs, None, released=False).ok
        )

    def _lacks_first_pods(self, gang: Applied[PodGang]) -> bool:
        """Tell whether a gang has no reference yet and some of its pods do not exist."""
        if any(group.pod_references for group in gang.object.spec.podgroups):
            return False
        found = map(self._view.caches.cliques.get, cliques_of_gang(gang))
        return any(clique is None or self._lacks_pods(clique.object) for clique in found)

    def _lacks_pods_after(self, pod: Pod) -> bool:
        clique = self._view.clique_of(pod)
        return clique is not None and self._lacks_pods(clique.object)

    def _lacks_pods(self, clique: PodClique) -> bool:
        return len(self._view.pods_of(clique)) < clique.spec.replicas

    def _was_ungated(self, old: Pod, new: Pod) -> bool:
        """Tell whether gates changed in a way that the gang's reconciler does not expect."""
        if old.spec.scheduling_gates == new.spec.scheduling_gates:
            return False
        # A foreign gate that is removed while ours is set may make our own patch fail.
        is_own_write = old.has_our_gate and not new.has_our_gate and new in self._expected_ungates
        return not is_own_write or self._reports_release(new)

    def _reports_release(self, pod: Pod) -> bool:
        """Tell whether a condition of the gang depends on whether its pods are gated."""
        record = self._record(pod)
        if record is None or record.release.member_lost is MemberLost.RECREATE_GANG:
            return True
        found = (self._view.caches.gangs.get(key) for key in gang_of(pod))
        return any(gang is not None and _released(gang.object) is not None for gang in found)

    def _depends_on_nodes(self, pod: Pod) -> bool:
        """Tell whether something is done or reported once pods of the gang are bound."""
        record = self._record(pod)
        if record is None:
            return True
        rules = record.release
        return (
            rules.after_bound is not None
            or rules.member_lost is MemberLost.RECREATE_GANG
            or rules.surplus is not SurplusRelease.WITH_MEMBERS
            or rules.programs is ProgramsRelease.AFTER_RELEASE
            or rules.bind_timeout_seconds is not None
            or any(self._view.caches.gangs.by_index(BASE, str(key)) for key in gang_of(pod))
            or any(self._has_deadline(key) for key in gang_of(pod))
        )

    def _has_deadline(self, gang: ObjectKey) -> bool:
        """Tell whether a gang leaves its backend unless it is scheduled soon."""
        found = self._view.caches.gangs.get(gang)
        status = found.object.status if found is not None else None
        placement = status.placement if status is not None else None
        return placement is not None and placement.deadline is not None

    def _record(self, pod: Pod) -> SchedulerBackendSpec | None:
        return self._view.record(pod.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND))


def gang_progressed(old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
    """A gang appeared, is gone, or changed by more than the writes of its own reconciler.

    That reconciler adds references and sets its conditions. References that are removed count; for
    overwritten conditions see `core_status_changed`.
    """
    if old is None or new is None:
        return True
    before, after = old.object, new.object
    return (
        _identity(old) != _identity(new)
        or _reported_by_backend(before) != _reported_by_backend(after)
        # The base gang may have been scheduled before the cache showed that this one waits.
        or _released(before) != _released(after)
        or (
            old.metadata.generation != new.metadata.generation
            and not _only_gained_references(before, after)
        )
    )


def core_status_changed(old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
    """What core writes into the status of a gang was removed or changed."""
    return old is not None and new is not None and _by_core(old.object) != _by_core(new.object)


def gang_conditions_changed(old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
    """A gang has other conditions than before, appeared or is gone."""
    return old is None or new is None or _conditions(old.object) != _conditions(new.object)


def pods_can_be_created(old: Applied[PodGang] | None, new: Applied[PodGang] | None) -> bool:
    """A gang appeared, or what its pods are created from changed."""
    return new is not None and (old is None or _for_pods(old.object) != _for_pods(new.object))


def _identity(value: Watched) -> object:
    metadata = value.metadata
    is_terminating = metadata.deletion_timestamp is not None
    return (
        metadata.uid,
        is_terminating,
        metadata.labels,
        metadata.annotations,
        metadata.owner_references,
    )


def _reported_by_backend(gang: PodGang) -> object:
    return (
        _status(gang, names.CONDITION_ACCEPTED),
        _status(gang, names.CONDITION_PROGRAMMED),
        _refusal(gang),
        gang.status.pod_preparations if gang.status is not None else (),
    )


def _refusal(gang: PodGang) -> str | None:
    """Return the reason with which a backend does not take a gang; only a policy acts on it."""
    programmed = find(_conditions(gang), names.CONDITION_PROGRAMMED)
    return programmed.reason if programmed is not None and programmed.reason in REFUSALS else None


def _released(gang: PodGang) -> str | None:
    return _status(gang, names.CONDITION_RELEASED)


def _only_gained_references(before: PodGang, after: PodGang) -> bool:
    old, new = before.spec, after.spec
    if old.model_copy(update={"podgroups": new.podgroups}) != new:
        return False
    if len(old.podgroups) != len(new.podgroups):
        return False
    return all(
        group.model_copy(update={"pod_references": grown.pod_references}) == grown
        and {one.name for one in group.pod_references} <= {one.name for one in grown.pod_references}
        for group, grown in zip(old.podgroups, new.podgroups, strict=True)
    )


def _status(gang: PodGang, kind: str) -> str | None:
    return next((found.status for found in _conditions(gang) if found.type == kind), None)


def _by_core(gang: PodGang) -> object:
    status = gang.status or _NO_STATUS
    written = [found for found in status.conditions if found.type in _WRITTEN_BY_CORE]
    return (
        written,
        status.incarnation,
        status.placed_incarnation,
        status.bind_attempt,
        status.placement,
        status.core_blocker,
    )


def _conditions(gang: PodGang) -> tuple[Condition, ...]:
    return gang.status.conditions if gang.status is not None else ()


def _for_pods(gang: PodGang) -> object:
    preparations = gang.status.pod_preparations if gang.status is not None else ()
    backend = gang.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
    return gang.metadata.uid, backend, preparations, incarnation_of(gang)
