"""Makes the children of one object, of several kinds at once.

Everything that is wanted is written in parallel, then what is no longer wanted is deleted by
UID. A name that we need and a stranger has is no reason to leave the rest undone: the child
is skipped, the owner is told, and the name is tried again with back-off, since nobody
announces that a stranger's object went away. A child of a namesake that is gone is no stranger's:
it goes away by itself, and is waited for. One of ours that lost the label by which caches select
looks like a stranger's until it is asked about, and gets its label back. What the server refuses
is told of in its own words, and tried again too: an admission policy refuses as a schema does, and
may be mended.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any, Generic, Protocol, TypeVar

from core_operator.context import CoreContext
from core_operator.plan.pods import is_live
from core_operator.plan.statuses.reasons import Blocked, Blocking
from core_operator.state.caches import OWNER
from shared_api.kube.errors import Conflict, Forbidden, Invalid, Verdict, classify
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS, Resource
from shared_api.models import KubeObject, PodClique
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, NotOurs, Target
from shared_api.runtime.reconciling.outcome import Retry, WaitForEvent, verdict_of
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import Owner, controller_of
from shared_api.runtime.watching.predicates import Watched

W = TypeVar("W", bound=Watched)
C = TypeVar("C")

AT_ONCE = 8
"""Writes that begin together: enough for a small gang to take one round trip, few enough for a
server that refuses all of them."""
LONGEST_TERMINATION = 30.0
"""Seconds after which an object that is being deleted requires manual action. The garbage collector
and the controllers behind most finalizers take a few."""
REFUSED_AGAIN_AFTER = 60.0
"""Seconds after which something is tried again that the server calls invalid."""


class NamesTaken(Retry):
    """Names that we need belong to objects of others."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = tuple(sorted(taken))
        super().__init__(f"names are taken: {', '.join(self.taken)}")


class ChildTerminating(WaitForEvent):
    """A name that we need belongs to an object that is still being deleted."""

    def __init__(self, resource: Resource, child: Watched) -> None:
        metadata = child.metadata
        since, finalizers = str(metadata.deletion_timestamp), ", ".join(metadata.finalizers)
        # Of our kinds it is a time, of others the text that the server sent.
        self.since = datetime.fromisoformat(since)
        group = f".{resource.group}" if resource.group else ""
        place = f"-n {metadata.namespace} " if metadata.namespace else ""
        super().__init__(
            f"{resource.kind} {metadata.name} is being deleted since {self.since:%Y-%m-%dT%H:%M:%SZ},"
            f" and its name is needed: its finalizers are not removed ({finalizers or 'none'})."
            " See why the controllers that set them do not remove them. If they are not installed any"
            f" more: kubectl {place}patch {resource.plural}{group} {metadata.name} --type=merge"
            ' -p \'{"metadata":{"finalizers":null}}\''
        )


@dataclass(frozen=True, slots=True)
class Concern:
    """Whose children are made, and how what the server refuses is told of."""

    owner: KubeObject
    told: KubeObject
    """Whom Events are about: the owner, or the set that people look at."""
    reason: Blocking = Blocking.CHILD_REFUSED
    words: str = "the server refuses what is needed"


@contextmanager
def telling(context: CoreContext, concern: Concern) -> Iterator[None]:
    """Note as a problem of the owner what the server refuses in the block, or takes too long for."""
    try:
        yield
    except ChildTerminating as wait:
        left = LONGEST_TERMINATION - (context.now() - wait.since).total_seconds()
        if left > 0:
            wait.within = left
        else:
            problem = Blocked(Blocking.CHILD_TERMINATING, str(wait))
            context.note_problem(concern.owner, problem, told=concern.told)
        raise
    except (Invalid, Forbidden, ExceptionGroup) as error:
        refusal = _refusal_in(error)
        if refusal is None:
            raise
        problem = Blocked(concern.reason, f"{concern.words}: {refusal}")
        context.note_problem(concern.owner, problem, told=concern.told)
        if verdict_of(error) is not Verdict.TERMINAL:
            raise
        raise Retry(str(refusal), after=REFUSED_AGAIN_AFTER) from error


def _refusal_in(error: Exception) -> Invalid | Forbidden | None:
    members = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
    refusals = (member for member in members if isinstance(member, Invalid | Forbidden))
    # What is refused because its namespace goes away needs nobody's attention.
    return next((one for one in refusals if classify(one) is not Verdict.WAIT_FOR_EVENT), None)


class Write(Protocol):
    """A child of some kind that should exist."""

    async def write(self, applier: Applier, behalf: Behalf) -> None:
        """Create or change it, if it is not so yet."""


class Removal(Protocol):
    """A child of some kind that should not exist."""

    async def remove(self, applier: Applier, behalf: Behalf) -> None:
        """Delete exactly it."""


@dataclass(frozen=True, slots=True)
class Wanted(Generic[W]):
    """A child as it should be."""

    target: Target[W]
    manifest: Mapping[str, object]

    async def write(self, applier: Applier, behalf: Behalf) -> None:
        """Create or change it, if it is not so yet."""
        try:
            await applier.apply(self.target, self.manifest, behalf)
        except WaitForEvent as error:
            holder = self.target.cache.get(self._key)
            if holder is not None and holder.metadata.deletion_timestamp is not None:
                raise ChildTerminating(self.target.resource, holder) from error
            raise
        except NotOurs as error:
            holder = self.target.cache.get(self._key)
            if holder is not None and self._is_of_namesake(holder):
                raise WaitForEvent(f"{self} of the former owner is still there") from error
            raise
        except Conflict:
            if self._key in self.target.cache:
                raise
            found = await applier.hidden(self.target, self._key)
            if found is None or found.metadata.is_terminating or self._is_of_namesake(found):
                # It goes, or is gone, and no event will tell.
                raise
            await applier.reclaim(self.target, self.manifest, found, behalf)

    def _is_of_namesake(self, holder: Watched) -> bool:
        """Tell whether an object was made for a former owner of the same kind and name."""
        (ours,) = self._metadata["ownerReferences"]
        theirs = controller_of(holder)
        return (
            theirs is not None
            and theirs.group == ours["apiVersion"].rpartition("/")[0]
            and (theirs.kind, theirs.name) == (ours["kind"], ours["name"])
            and theirs.uid != ours["uid"]
        )

    @property
    def _metadata(self) -> Mapping[str, Any]:
        metadata = self.manifest["metadata"]
        assert isinstance(metadata, Mapping)
        return metadata

    @property
    def _key(self) -> ObjectKey:
        return ObjectKey(self._metadata.get("namespace") or "", self._metadata["name"])

    def __str__(self) -> str:
        return f"{self.target.resource.kind} {self._key.name}"


@dataclass(frozen=True, slots=True)
class Unwanted(Generic[W]):
    """A child that should not exist."""

    target: Target[W]
    observed: W

    async def remove(self, applier: Applier, behalf: Behalf) -> None:
        """Delete exactly it."""
        await applier.delete(self.target, self.observed, behalf)


@dataclass(frozen=True, slots=True)
class WithPods:
    """A PodClique that should not exist, and its pods, whose room somebody may wait for.

    The garbage collector takes them as well, but asks three times for each, and on a large
    cluster only after all that it has to do before. What is cut off here is left to it.
    """

    context: CoreContext
    clique: Unwanted[Applied[PodClique]]

    async def remove(self, applier: Applier, behalf: Behalf) -> None:
        """Delete the PodClique, so that nobody replaces its pods, and then these."""
        view, target = self.context.view, Target(PODS, self.context.view.caches.pods)

        async def delete(pod: Pod) -> None:
            with self.context.repairs.deletions.to(pod):
                await applier.delete(target, pod, behalf)

        pods = [pod for pod in view.pods_of(self.clique.observed.object) if is_live(pod)]
        await self.clique.remove(applier, behalf)
        await slow_start(
            pods, delete, limit=self.context.settings.concurrency.writes, first=AT_ONCE
        )


@dataclass(frozen=True, slots=True)
class Family:
    """The children of one object: those that should exist, and those that should not."""

    wanted: Iterable[Write]
    """Best made one by one while they are written: thousands of manifests are a lot of memory."""
    unwanted: tuple[Removal, ...] = ()


def unwanted(target: Target[W], owner: Owner, wanted: Iterable[str]) -> list[Unwanted[W]]:
    """Children of an owner whose names are not wanted, and that are not going anyway."""
    names = frozenset(wanted)
    return [
        Unwanted(target, value)
        for value in target.cache.by_index(OWNER, owner)
        if value.metadata.name not in names and value.metadata.deletion_timestamp is None
    ]


def own_child(cache: Cache[W], key: ObjectKey, owner: Owner) -> W | None:
    """The child of this name that an owner has made; one of its namesake before it is none.

    Sizes are taken from it. It may be gone before what is decided from it is written, and the
    write would then give a new set the size of its predecessor.
    """
    found = cache.get(key)
    return found if found is not None and controller_of(found) == owner else None


def seen(observed: Watched | None, manifest: Mapping[str, object]) -> Mapping[str, object]:
    """The manifest, refused by the server unless the object is as it was seen.

    It repeats a size that somebody else decides; without this, a scaling that happens between
    our look and our write would be undone.
    """
    if observed is None:
        return manifest
    metadata = manifest["metadata"]
    assert isinstance(metadata, Mapping)
    version = observed.metadata.resource_version
    return {**manifest, "metadata": {**metadata, "resourceVersion": version}}


def is_as_seen(cache: Cache[W], owner: Watched) -> bool:
    """Tell whether an owner still asks for what was planned for it."""
    live = cache.get_by_uid(owner.metadata.uid or "")
    return (
        live is not None
        and live.metadata.deletion_timestamp is None
        and live.metadata.generation == owner.metadata.generation
    )


def only_while(
    still: Callable[[], bool], call: Callable[[C], Awaitable[None]]
) -> Callable[[C], Awaitable[None]]:
    """The call, or nothing once it is not wanted any more: thousands of them take minutes."""

    async def guarded(item: C) -> None:
        if still():
            await call(item)

    return guarded


async def settle(
    family: Family,
    applier: Applier,
    behalf: Behalf,
    *,
    parallel: int,
    still: Callable[[], bool] = lambda: True,
) -> None:
    """Write what is wanted, then delete what is not; raise at the end what stood in the way.

    Where there may be many, `still` tells whether their owner still wants them.
    """
    taken: list[str] = []
    later: list[Exception] = []

    async def write(child: Write) -> None:
        try:
            await child.write(applier, behalf)
        except NotOurs:
            taken.append(str(child))
        except Conflict as error:
            later.append(Retry(f"{child} has changed meanwhile: {error}"))
        except WaitForEvent as wait:
            # Its predecessor is still being deleted; the other children need not wait for that.
            later.append(wait)

    async def remove(child: Removal) -> None:
        await child.remove(applier, behalf)

    # What nobody wants any more is not even made.
    wanted = takewhile(lambda _: still(), family.wanted)
    await slow_start(wanted, only_while(still, write), limit=parallel, first=AT_ONCE)
    await slow_start(family.unwanted, only_while(still, remove), limit=parallel, first=AT_ONCE)
    if not still():
        raise WaitForEvent(f"{behalf.key} has changed while its children were being made")
    if taken:
        raise NamesTaken(taken)
    if later:
        raise min(later, key=_first)


def _first(error: Exception) -> tuple[int, float]:
    """What is tried again goes first, then the child that has been terminating for longest."""
    if isinstance(error, ChildTerminating):
        return 1, error.since.timestamp()
    return (2 if isinstance(error, WaitForEvent) else 0), 0.0
