"""Which backend a gang gets, and why not another one.

The set's annotation decides, with one name or several in order of preference; else the
schedulerName of the cliques, matched by the globs of the records; else the configured default.
This module knows no scheduler: names, globs and capabilities come from the records. A released
gang never changes its backend. A waiting gang changes it only to one that can schedule it. A
backend without gang scheduling is chosen only if its record offers a bind timeout or plain
scheduling instead. A schedulerName without a record is an error: the default's scheduler would ignore those pods.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from core_operator.plan.placement.topology import required_capabilities
from shared_api import names
from shared_api.models import PodCliqueSet, SchedulerBackendSpec

_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RegisteredBackend:
    """A backend that has a SchedulerBackend record."""

    name: str
    record: SchedulerBackendSpec
    available: bool
    unavailable_reason: str
    refusal: str = ""
    """Why core does not use the record; such a backend is never chosen."""
    registered: datetime | None = None
    """When the record was created."""
    unavailable_because: str = names.REASON_BACKEND_UNAVAILABLE
    """The reason word for `unavailable_reason`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the record."""
    since: datetime | None = None
    """Since when it is available, or down."""
    was_down: bool = False
    """Whether it has been down since it was registered."""

    @property
    def kind(self) -> str:
        """Return the kind of backend that it is an instance of."""
        return self.record.kind or self.name


@dataclass(frozen=True, slots=True)
class Choice:
    """The backend of a gang; if not `ok`, why it has none or waits for it."""

    backend: str | None
    scheduler_name: str
    ok: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Names in order of preference, and where they come from."""

    names: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a backend cannot have the gang."""

    reason: str
    text: str


def needs_of(pcs: PodCliqueSet) -> frozenset[str]:
    """Return the capabilities that the set requires; preferences are not among them."""
    return required_capabilities(pcs) | {names.CAPABILITY_GANG}


def choose(
    pcs: PodCliqueSet,
    needs: frozenset[str],
    backends: Mapping[str, RegisteredBackend],
    default: str,
    current: str | None,
    *,
    released: bool,
) -> Choice:
    """Return the backend for a gang of the set; `current` is the one that it has."""
    choice = _preferred(pcs, needs, backends, default, current)
    if not released or current is None:
        return choice
    if choice.backend == current and choice.reason != names.REASON_UNSUPPORTED:
        return choice
    # The backend had the capabilities at the release; only its health may have changed.
    scheduler = scheduler_name(pcs, backends.get(current))
    flaw = _flaw(current, frozenset(), backends)
    if flaw is not None:
        return Choice(current, scheduler, ok=False, reason=flaw.reason, message=flaw.text)
    message = f"backend '{current}', where its pods were released{_caveat(backends[current])}"
    return Choice(current, scheduler, ok=True, reason=names.REASON_SELECTED, message=message)


def _preferred(
    pcs: PodCliqueSet,
    needs: frozenset[str],
    backends: Mapping[str, RegisteredBackend],
    default: str,
    current: str | None,
) -> Choice:
    candidates = _candidates(pcs, backends, default)
    if isinstance(candidates, Flaw):
        scheduler = scheduler_name(pcs, None)
        return Choice(None, scheduler, ok=False, reason=candidates.reason, message=candidates.text)
    flaws: dict[str, Flaw] = {}
    for name in candidates.names:
        flaw = _flaw(name, needs, backends)
        if flaw is None:
            return _selected(pcs, backends[name], candidates.source, flaws)
        flaws[name] = flaw
    return _refused(pcs, backends, flaws, current)


def _selected(
    pcs: PodCliqueSet, backend: RegisteredBackend, source: str, flaws: Mapping[str, Flaw]
) -> Choice:
    message = f"backend '{backend.name}' by {source}{_caveat(backend)}"
    if flaws:
        message += f"; passed over: {'; '.join(flaw.text for flaw in flaws.values())}"
    return Choice(
        backend.name,
        scheduler_name(pcs, backend),
        ok=True,
        reason=names.REASON_SELECTED,
        message=message,
    )


def _refused(
    pcs: PodCliqueSet,
    backends: Mapping[str, RegisteredBackend],
    flaws: Mapping[str, Flaw],
    current: str | None,
) -> Choice:
    """Return the choice without a usable candidate: the current backend, else the first known."""
    known = [name for name in flaws if name in backends and not backends[name].refusal]
    chosen = current if current in known else next(iter(known), None)
    named = chosen or next(iter(flaws))
    message = "; ".join((flaws[named].text, *(f.text for n, f in flaws.items() if n != named)))
    if any(name not in backends for name in flaws):
        used = sorted(name for name, backend in backends.items() if not backend.refusal)
        message += f"; known: {', '.join(used) or 'none'}"
    return Choice(
        chosen,
        scheduler_name(pcs, backends.get(named)),
        ok=False,
        reason=flaws[named].reason,
        message=message,
    )


def _flaw(
    name: str, needs: frozenset[str], backends: Mapping[str, RegisteredBackend]
) -> Flaw | None:
    backend = backends.get(name)
    if backend is None:
        return Flaw(names.REASON_BACKEND_UNKNOWN, f"no backend '{name}'")
    if backend.refusal:
        text = f"backend '{name}' is not accepted: {backend.refusal}"
        return Flaw(names.REASON_BACKEND_UNKNOWN, text)
    missing = sorted(needs.difference(abilities_of(backend)))
    # Before availability: a backend that comes back still lacks the capability.
    if missing:
        text = f"backend '{name}' does not support: {', '.join(missing)}"
        return Flaw(names.REASON_UNSUPPORTED, text)
    if not backend.available:
        reason = backend.unavailable_because
        state = "down" if reason == names.REASON_BACKEND_UNAVAILABLE else "not ready"
        text = f"backend '{name}' is {state}: {backend.unavailable_reason}"
        return Flaw(reason, text)
    return None


def abilities_of(backend: RegisteredBackend) -> frozenset[str]:
    """Return the capabilities; what stands in for gang scheduling counts as such."""
    listed = frozenset(backend.record.capabilities)
    return listed | {names.CAPABILITY_GANG} if _caveat(backend) else listed


def _caveat(backend: RegisteredBackend) -> str:
    """Return what a gang has instead of gang scheduling; empty if the backend has that."""
    listed, timeout = backend.record.capabilities, backend.record.release.bind_timeout_seconds
    if names.CAPABILITY_GANG in listed:
        return ""
    if names.CAPABILITY_GANG_BY_TIMEOUT in listed and timeout is not None:
        return f"; it has no gangs: one that is not bound within {timeout} s gives back its pods"
    if names.CAPABILITY_PLAIN_SCHEDULING in listed:
        return "; it schedules pod by pod, so a gang is not guaranteed"
    return ""


def _candidates(
    pcs: PodCliqueSet, backends: Mapping[str, RegisteredBackend], default: str
) -> _Candidates | Flaw:
    annotation = pcs.metadata.annotations.get(names.ANNOTATION_SCHEDULER_BACKEND, "")
    listed = tuple(dict.fromkeys(name for part in annotation.split(",") if (name := part.strip())))
    if listed:
        return _Candidates(listed, f"annotation {names.ANNOTATION_SCHEDULER_BACKEND}")
    schedulers = schedulers_of(pcs)
    if not schedulers:
        return _Candidates((default,), "default")
    backend_of = {scheduler: _backend_for(scheduler, backends) for scheduler in schedulers}
    found = sorted({name for name in backend_of.values() if name is not None})
    unknown = [scheduler for scheduler, name in backend_of.items() if name is None]
    quoted = ", ".join(f"'{scheduler}'" for scheduler in unknown or schedulers)
    if unknown:
        text = f"no backend has schedulerName {quoted}; known: {_known(backends)}"
        return Flaw(names.REASON_BACKEND_UNKNOWN, text)
    if len(found) > 1:
        text = f"cliques name schedulers of different backends: {quoted} of {', '.join(found)}"
        return Flaw(names.REASON_SCHEDULERS_DISAGREE, text)
    return _Candidates((found[0],), f"schedulerName {quoted}")


def schedulers_of(pcs: PodCliqueSet) -> tuple[str, ...]:
    """Return the schedulers that cliques name; a clique without one follows the others."""
    found = (clique.spec.pod_spec.get("schedulerName") for clique in pcs.spec.template.cliques)
    return tuple(sorted({name for name in found if isinstance(name, str) and name}))


def _backend_for(scheduler: str, backends: Mapping[str, RegisteredBackend]) -> str | None:
    """Return the backend of a scheduler name: the most exact pattern wins.

    Of equal patterns the oldest record wins, so that a later record gets no name of an earlier one.
    """
    matches = [
        ("*" in pattern or "?" in pattern, -len(pattern), backend.registered or _LATEST, name)
        for name, backend in backends.items()
        for pattern in backend.record.scheduler_names
        if not backend.refusal and _matches(scheduler, pattern)
    ]
    return min(matches)[3] if matches else None


def outranked(name: str, backends: Mapping[str, RegisteredBackend]) -> str:
    """Return the scheduler names of a backend that another one has; empty if none."""
    claimed = (one for one in backends[name].record.scheduler_names if one)
    winners = {one: _backend_for(one, backends) for one in claimed}
    return ", ".join(f"{one} ({by})" for one, by in winners.items() if by not in (name, None))


def serves(backend: RegisteredBackend, scheduler: str) -> bool:
    """Return whether a backend serves a scheduler name."""
    return any(_matches(scheduler, pattern) for pattern in backend.record.scheduler_names)


def _matches(scheduler: str, pattern: str) -> bool:
    # In a record only `*` and `?` are special; fnmatch also has sets in brackets.
    return fnmatchcase(scheduler, pattern.replace("[", "[[]"))


def scheduler_name(pcs: PodCliqueSet, backend: RegisteredBackend | None) -> str:
    """Return the scheduler name that the pods will have, as far as it is known."""
    named = schedulers_of(pcs)
    if backend is None:
        return named[0] if named else ""
    members = backend.record.preparation.members
    if members is not None and members.spec is not None and members.spec.scheduler_name:
        return members.spec.scheduler_name
    patterns = backend.record.scheduler_names
    fitting = [n for n in named if any(_matches(n, pattern) for pattern in patterns)]
    plain = [pattern for pattern in patterns if pattern and not {"*", "?"} & set(pattern)]
    return next(iter((*fitting, *plain, *named)), "")


def _known(backends: Mapping[str, RegisteredBackend]) -> str:
    listed = (
        f"{name} ({', '.join(pattern for pattern in backend.record.scheduler_names if pattern)})"
        for name, backend in sorted(backends.items())
        if not backend.refusal
    )
    return ", ".join(listed) or "none"
