"""Changes of a gang from which its translation does not follow: references to pods that are held.

Core makes a PodGang without pods and refers to them once they are there, so this is what happens
to every gang first. A dialect that heeds only pods that are free would write the same objects
again; here the board is told that they stand for the new generation as well. Whatever else has
changed, or is not as it should be, has the gang translated.
"""

from dataclasses import replace

from msgspec import structs

from backend_controllers.generic.caches import Caches
from backend_controllers.generic.gang_results import Board, Stage
from shared_api.kube.podgangs import PodGang, PodGangSpec
from shared_api.runtime.watching.predicates import more_than_status


class References:
    """Judges changes of gangs, and follows those that need no translation."""

    def __init__(self, caches: Caches, board: Board, *, heeds_held_pods: bool) -> None:
        self._caches = caches
        self._board = board
        self._heeds_held_pods = heeds_held_pods
        # Judged once for each event, before those that are told of it after us ask.
        self._is_news = False
        caches.gangs.subscribe(self._on_gang)

    def is_news(self, old: PodGang | None, new: PodGang | None) -> bool:
        """Tell whether the event that is just told of may change the translation of its gang."""
        del old, new
        return self._is_news

    def _on_gang(self, old: PodGang | None, new: PodGang | None) -> None:
        self._is_news = more_than_status(old, new) and not self._follows(old, new)

    def _follows(self, old: PodGang | None, new: PodGang | None) -> bool:
        if old is None or new is None or self._heeds_held_pods:
            return False
        posted = self._board.get(new.metadata.uid)
        if posted is None or posted.generation != old.metadata.generation:
            # It is in the queue, or in work, for what came before.
            return False
        if posted.stage is not Stage.PROGRAMMED or not _refers_only(old, new):
            return False
        if not all(pod.is_gated for pod in self._caches.pods_of(new)):
            return False
        self._board.post(new, replace(posted, generation=new.metadata.generation))
        return True


def _refers_only(old: PodGang, new: PodGang) -> bool:
    """Tell whether nothing is another but references to members.

    Pods above the minimum are not waited for, and a translator may have a word about them.
    """
    before, after = old.metadata, new.metadata
    return (
        before.uid == after.uid
        and before.labels == after.labels
        and before.annotations == after.annotations
        and before.deletion_timestamp == after.deletion_timestamp
        and all(len(group.pod_references) <= group.min_replicas for group in new.spec.podgroups)
        and _without_references(old.spec) == _without_references(new.spec)
    )


def _without_references(spec: PodGangSpec) -> PodGangSpec:
    groups = (structs.replace(group, pod_references=()) for group in spec.podgroups)
    return structs.replace(spec, podgroups=tuple(groups))
