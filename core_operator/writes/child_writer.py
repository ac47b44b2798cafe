"""Writes the children of one object, of several kinds at once.

Wanted children are applied in parallel, then unwanted children are deleted by UID. A foreign object
that has the name of a child is never changed: the child is skipped, the owner reports it, and the
write is retried with back-off, since no event announces that the foreign object is gone. If the
child of a former owner has the name, the write waits until the garbage collector has deleted it. A
child that lost the label by which caches select is found by listing and gets its label back. A
write that the server refuses is reported and retried: the refusal may come from an admission
policy, which may change.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Any, Generic, Protocol, TypeVar

from core_operator.context import CoreContext
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from core_operator.state.caches import OWNER
from core_operator.writes.child_events import ChildEvents
from shared_api import names
from shared_api.kube.errors import Conflict, ErrorAction, Forbidden, Invalid, classify
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.models import KubeObject
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, NotOurs, Target, Written
from shared_api.runtime.reconciling.outcome import Retry, WaitForEvent, verdict_of
from shared_api.runtime.reconciling.slowstart import slow_start
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import Owner, controller_of
from shared_api.runtime.watching.predicates import Watched

W = TypeVar("W", bound=Watched)
C = TypeVar("C")

_FOREGROUND = "foregroundDeletion"
AT_ONCE = 8
"""Writes that begin together: a small gang takes one round trip, a refusing server gets few."""
LONGEST_TERMINATION = 30.0
"""Seconds after which an object that is being deleted requires manual action."""
REFUSED_AGAIN_AFTER = 60.0
"""Seconds after which a write is retried that the server refused."""


class NamesTaken(Retry):
    """Foreign objects have the names of children."""

    def __init__(self, taken: Iterable[str]) -> None:
        message = f"Foreign objects have the names of children: {', '.join(sorted(taken))}"
        self.problem = Blocker(BlockingReason.CONFLICT, f"{message}. Delete or rename them")
        super().__init__(message)


class ChildTerminating(WaitForEvent):
    """An object that has the name of a child is still being deleted."""

    def __init__(self, resource: Resource, child: Watched) -> None:
        metadata = child.metadata
        # Models of our kinds have a datetime, projections of others the server's text.
        self.since = datetime.fromisoformat(str(metadata.deletion_timestamp))
        why = (
            _owned_remain(child)
            if _FOREGROUND in metadata.finalizers
            else _finalizers_remain(resource, child)
        )
        super().__init__(
            f"{resource.kind} {metadata.name} is being deleted since {self.since:%Y-%m-%dT%H:%M:%SZ},"
            f" and its name is needed: {why}"
        )


def _finalizers_remain(resource: Resource, child: Watched) -> str:
    metadata = child.metadata
    group = f".{resource.group}" if resource.group else ""
    place = f"-n {metadata.namespace} " if metadata.namespace else ""
    return (
        f"its finalizers are not removed ({', '.join(metadata.finalizers) or 'none'})."
        " See why the controllers that set them do not remove them. If they are not installed any"
        f" more: kubectl {place}patch {resource.plural}{group} {metadata.name} --type=merge"
        ' -p \'{"metadata":{"finalizers":null}}\''
    )


def _owned_remain(child: Watched) -> str:
    """Return why an object stays whose dependents are deleted first.

    There is no command to remove its finalizer: another backend would get a gang that still runs.
    """
    backend = child.metadata.labels.get(names.LABEL_SCHEDULER_BACKEND)
    if backend is None:
        return (
            "objects that it owns are not gone. See which of them have finalizers, and why the"
            " controllers that set them do not remove them"
        )
    return (
        f"backend '{backend}' has not confirmed that the gang is withdrawn. See whether it runs:"
        f" kubectl get schedulerbackend {backend}. Do not remove finalizers: the gang could run twice"
    )


@dataclass(frozen=True, slots=True)
class RefusalReport:
    """How a refused write is reported."""

    owner: KubeObject
    """The object that has the problem."""
    event_about: KubeObject
    """The object of the Event: the owner, or its set."""
    reason: BlockingReason = BlockingReason.CHILD_REFUSED
    message: str = "the server refuses a child"


@contextmanager
def reporting_refusals(context: CoreContext, report: RefusalReport) -> Iterator[None]:
    """Report refused writes in the block, and children that are being deleted for too long."""
    try:
        yield
    except ChildTerminating as wait:
        left = LONGEST_TERMINATION - (context.now() - wait.since).total_seconds()
        if left > 0:
            wait.within = left
        else:
            problem = Blocker(BlockingReason.CHILD_TERMINATING, str(wait))
            context.report_problem(report.owner, problem, event_about=report.event_about)
        raise
    except (Invalid, Forbidden, ExceptionGroup) as error:
        refusal = _refusal_in(error)
        if refusal is None:
            raise
        problem = Blocker(report.reason, f"{report.message}: {refusal}")
        context.report_problem(report.owner, problem, event_about=report.event_about)
        if verdict_of(error) is not ErrorAction.TERMINAL:
            raise
        raise Retry(str(refusal), after=REFUSED_AGAIN_AFTER) from error


def _refusal_in(error: Exception) -> Invalid | Forbidden | None:
    members = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
    refusals = (member for member in members if isinstance(member, Invalid | Forbidden))
    # A refusal because the namespace is being deleted is no problem.
    return next((one for one in refusals if classify(one) is not ErrorAction.WAIT_FOR_EVENT), None)


class Write(Protocol):
    """A child that should exist."""

    async def write(self, applier: Applier, behalf: Behalf) -> Written:
        """Create or change it, unless it is as wanted."""


class Removal(Protocol):
    """A child that should not exist."""

    async def remove(self, applier: Applier, behalf: Behalf) -> None:
        """Delete it by UID."""


@dataclass(frozen=True, slots=True)
class Wanted(Generic[W]):
    """A child and its manifest."""

    target: Target[W]
    manifest: Mapping[str, object]

    async def write(self, applier: Applier, behalf: Behalf) -> Written:
        """Create or change it, unless it is as wanted."""
        try:
            return await applier.apply(self.target, self.manifest, behalf)
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
                # No event will report that it is gone, so the write is retried.
                raise
            await applier.reclaim(self.target, self.manifest, found, behalf)
            return Written.APPLIED

    def _is_of_namesake(self, holder: Watched) -> bool:
        """Tell whether an object belongs to a former owner of the same kind and name."""
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
        """Delete it by UID."""
        await applier.delete(self.target, self.observed, behalf)

    def __str__(self) -> str:
        return f"{self.target.resource.kind} {self.observed.metadata.name}"


def unwanted(target: Target[W], owner: Owner, wanted: Iterable[str]) -> list[Unwanted[W]]:
    """Return the children of an owner that have other names and are not being deleted."""
    names = frozenset(wanted)
    return [
        Unwanted(target, value)
        for value in target.cache.by_index(OWNER, owner)
        if value.metadata.name not in names and value.metadata.deletion_timestamp is None
    ]


def own_child(cache: Cache[W], key: ObjectKey, owner: Owner) -> W | None:
    """Return the child of this name, unless it belongs to a former owner of the same name.

    Otherwise a new set would get the size of its predecessor.
    """
    found = cache.get(key)
    return found if found is not None and controller_of(found) == owner else None


def if_unchanged(observed: Watched | None, manifest: Mapping[str, object]) -> Mapping[str, object]:
    """Return the manifest with the resource version that was read.

    The manifest repeats a size that others set. Without the version, a scaling between our read and
    our write would be reverted.
    """
    if observed is None:
        return manifest
    metadata = manifest["metadata"]
    assert isinstance(metadata, Mapping)
    version = observed.metadata.resource_version
    return {**manifest, "metadata": {**metadata, "resourceVersion": version}}


def is_current(cache: Cache[W], owner: Watched) -> bool:
    """Tell whether an owner still exists and has the generation that was planned for."""
    live = cache.get_by_uid(owner.metadata.uid or "")
    return (
        live is not None
        and live.metadata.deletion_timestamp is None
        and live.metadata.generation == owner.metadata.generation
    )


def only_while(
    still: Callable[[], bool], call: Callable[[C], Awaitable[None]]
) -> Callable[[C], Awaitable[None]]:
    """Return the call without effect once it is not wanted: thousands of them take minutes."""

    async def guarded(item: C) -> None:
        if still():
            await call(item)

    return guarded


class ChildWriter:
    """Writes children for one controller."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._applier = applier
        self._parallel = context.settings.concurrency.writes

    async def settle(
        self,
        wanted: Iterable[Write],
        unwanted: Iterable[Removal],
        report: RefusalReport,
        behalf: Behalf,
        *,
        still: Callable[[], bool] = lambda: True,
    ) -> None:
        """Write wanted children, delete unwanted ones, and raise at the end what failed.

        `wanted` should be a generator: thousands of manifests take a lot of memory. Where there may
        be many, `still` returns whether their owner still wants them.
        """
        taken: list[str] = []
        later: list[Exception] = []
        events = ChildEvents()

        async def write(child: Write) -> None:
            try:
                with events.writing(str(child)):
                    written = await child.write(self._applier, behalf)
                if written is Written.CREATED:
                    events.created(str(child))
            except NotOurs:
                taken.append(str(child))
            except Conflict as error:
                later.append(Retry(f"{child} has changed meanwhile: {error}"))
            except WaitForEvent as wait:
                # Its predecessor is still being deleted; the other children do not wait for that.
                later.append(wait)

        async def remove(child: Removal) -> None:
            with events.deleting(str(child)):
                await child.remove(self._applier, behalf)
            events.deleted(str(child))

        with reporting_refusals(self._context, report):
            # takewhile: manifests that are no longer wanted are not even created.
            writes = takewhile(lambda _: still(), wanted)
            start = partial(slow_start, limit=self._parallel, first=AT_ONCE)
            try:
                await start(writes, only_while(still, write))
                await start(unwanted, only_while(still, remove))
            finally:
                events.record(self._context, report.event_about, owner=report.owner.KIND)
            if not still():
                raise WaitForEvent(f"{behalf.key} has changed while its children were written")
            if taken:
                raise NamesTaken(taken)
            if later:
                raise min(later, key=_first)


def _first(error: Exception) -> tuple[int, float]:
    """Order errors: retries first, then the child that has been terminating for longest."""
    if isinstance(error, ChildTerminating):
        return 1, error.since.timestamp()
    return (2 if isinstance(error, WaitForEvent) else 0), 0.0
