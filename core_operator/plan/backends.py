"""Which backend a gang is given to, and why not another.

The user's annotation decides, one name or several in order of preference; else the
schedulerName that the cliques agree on, by the globs of the records; else the configured
default. Nothing here knows a scheduler: names, globs and capabilities come from the records.
A gang whose pods were released stays where it is, whatever happens, and one that waits leaves its
backend only for one that can have it. A backend that cannot
schedule gangs takes them only if its record says that pod by pod will do. A schedulerName that no
record answers for is an error and not a case for the default, whose scheduler would never
look at those pods.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from core_operator.plan.topology import required_capabilities
from shared_api import names
from shared_api.models import PodCliqueSet, SchedulerBackendSpec

_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Backend:
    """A registered backend; `why_not` says why it is not available."""

    name: str
    record: SchedulerBackendSpec
    available: bool
    why_not: str
    refusal: str = ""
    """Why core does not use its record; such a backend is never chosen."""
    registered: datetime | None = None
    """When its record was created."""


@dataclass(frozen=True, slots=True)
class BackendLabels:
    """What a PodGang is labelled with; without a backend nobody acts on it."""

    backend: str | None
    scheduler_name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The backend of a gang; when not `ok`, what it waits for. The message has all there is to say."""

    backend: str | None
    scheduler_name: str
    ok: bool
    reason: str
    message: str

    @property
    def labels(self) -> BackendLabels:
        """What the PodGang is labelled with."""
        return BackendLabels(self.backend, self.scheduler_name)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Names in order of preference, and who prefers them."""

    names: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class _Flaw:
    """Why a backend, or none, cannot have the gang."""

    reason: str
    text: str


def needs_of(pcs: PodCliqueSet) -> frozenset[str]:
    """Capabilities without which gangs of the set would not be what the user asked for.

    Only what is a guarantee: what is preferred, a scheduler may leave undone.
    """
    return required_capabilities(pcs) | {names.CAPABILITY_GANG}


def choose(
    pcs: PodCliqueSet,
    needs: frozenset[str],
    backends: Mapping[str, Backend],
    default: str,
    current: str | None,
    *,
    released: bool,
) -> Choice:
    """The backend for a gang of the set; `current` is the one that it has."""
    choice = _preferred(pcs, needs, backends, default, current)
    if not released or current is None:
        return choice
    if choice.backend == current and choice.reason != names.REASON_UNSUPPORTED:
        return choice
    # What the gang needs was there when it was released; only its backend's health is news.
    scheduler = _scheduler_name(pcs, backends.get(current))
    flaw = _flaw(current, frozenset(), backends)
    if flaw is not None:
        return Choice(current, scheduler, ok=False, reason=flaw.reason, message=flaw.text)
    message = f"backend '{current}', where its pods were released{_caveat(backends[current])}"
    return Choice(current, scheduler, ok=True, reason=names.REASON_SELECTED, message=message)


def _preferred(
    pcs: PodCliqueSet,
    needs: frozenset[str],
    backends: Mapping[str, Backend],
    default: str,
    current: str | None,
) -> Choice:
    candidates = _candidates(pcs, backends, default)
    if isinstance(candidates, _Flaw):
        scheduler = _scheduler_name(pcs, None)
        return Choice(None, scheduler, ok=False, reason=candidates.reason, message=candidates.text)
    flaws: dict[str, _Flaw] = {}
    for name in candidates.names:
        flaw = _flaw(name, needs, backends)
        if flaw is None:
            return _selected(pcs, backends[name], candidates.source, flaws)
        flaws[name] = flaw
    return _refused(pcs, backends, flaws, current)


def _selected(
    pcs: PodCliqueSet, backend: Backend, source: str, flaws: Mapping[str, _Flaw]
) -> Choice:
    message = f"backend '{backend.name}' by {source}{_caveat(backend)}"
    if flaws:
        message += f"; passed over: {'; '.join(flaw.text for flaw in flaws.values())}"
    return Choice(
        backend.name,
        _scheduler_name(pcs, backend),
        ok=True,
        reason=names.REASON_SELECTED,
        message=message,
    )


def _refused(
    pcs: PodCliqueSet,
    backends: Mapping[str, Backend],
    flaws: Mapping[str, _Flaw],
    current: str | None,
) -> Choice:
    """No candidate will do: the gang waits where it is, or else with the first known one."""
    known = [name for name in flaws if name in backends and not backends[name].refusal]
    chosen = current if current in known else next(iter(known), None)
    named = chosen or next(iter(flaws))
    message = "; ".join((flaws[named].text, *(f.text for n, f in flaws.items() if n != named)))
    if any(name not in backends for name in flaws):
        used = sorted(name for name, backend in backends.items() if not backend.refusal)
        message += f"; known: {', '.join(used) or 'none'}"
    return Choice(
        chosen,
        _scheduler_name(pcs, backends.get(named)),
        ok=False,
        reason=flaws[named].reason,
        message=message,
    )


def _flaw(name: str, needs: frozenset[str], backends: Mapping[str, Backend]) -> _Flaw | None:
    backend = backends.get(name)
    if backend is None:
        return _Flaw(names.REASON_BACKEND_UNKNOWN, f"no backend '{name}'")
    if backend.refusal:
        text = f"backend '{name}' is not accepted: {backend.refusal}"
        return _Flaw(names.REASON_BACKEND_UNKNOWN, text)
    missing = sorted(needs.difference(_abilities(backend)))
    # First, since it does not pass: a backend that comes back still cannot do it.
    if missing:
        text = f"backend '{name}' cannot do: {', '.join(missing)}"
        return _Flaw(names.REASON_UNSUPPORTED, text)
    if not backend.available:
        text = f"backend '{name}' is unavailable: {backend.why_not}"
        return _Flaw(names.REASON_BACKEND_UNAVAILABLE, text)
    return None


def _abilities(backend: Backend) -> frozenset[str]:
    """What gangs may count on; its administrator decides whether pod by pod is good enough."""
    listed = frozenset(backend.record.capabilities)
    return listed | {names.CAPABILITY_GANG} if _is_plain(backend) else listed


def _is_plain(backend: Backend) -> bool:
    listed = backend.record.capabilities
    return names.CAPABILITY_PLAIN_SCHEDULING in listed and names.CAPABILITY_GANG not in listed


def _caveat(backend: Backend) -> str:
    return "; it schedules pod by pod, so a gang is not guaranteed" if _is_plain(backend) else ""


def _candidates(
    pcs: PodCliqueSet, backends: Mapping[str, Backend], default: str
) -> _Candidates | _Flaw:
    annotation = pcs.metadata.annotations.get(names.ANNOTATION_SCHEDULER_BACKEND, "")
    listed = tuple(dict.fromkeys(name for part in annotation.split(",") if (name := part.strip())))
    if listed:
        return _Candidates(listed, f"annotation {names.ANNOTATION_SCHEDULER_BACKEND}")
    schedulers = _schedulers(pcs)
    if not schedulers:
        return _Candidates((default,), "default")
    answers = {scheduler: _answering(scheduler, backends) for scheduler in schedulers}
    found = sorted({name for name in answers.values() if name is not None})
    unknown = [scheduler for scheduler, name in answers.items() if name is None]
    quoted = ", ".join(f"'{scheduler}'" for scheduler in unknown or schedulers)
    if unknown:
        text = f"no backend answers for schedulerName {quoted}; known: {_known(backends)}"
        return _Flaw(names.REASON_BACKEND_UNKNOWN, text)
    if len(found) > 1:
        text = f"cliques name schedulers of different backends: {quoted} of {', '.join(found)}"
        return _Flaw(names.REASON_SCHEDULERS_DISAGREE, text)
    return _Candidates((found[0],), f"schedulerName {quoted}")


def _schedulers(pcs: PodCliqueSet) -> tuple[str, ...]:
    """The schedulers that cliques name; one that names none goes with the others."""
    found = (clique.spec.pod_spec.get("schedulerName") for clique in pcs.spec.template.cliques)
    return tuple(sorted({name for name in found if isinstance(name, str) and name}))


def _answering(scheduler: str, backends: Mapping[str, Backend]) -> str | None:
    """Return the backend that answers for a scheduler, the most exact of its patterns deciding.

    Of equal ones the record that was created first decides: a later one takes no names over.
    """
    matches = [
        ("*" in pattern or "?" in pattern, -len(pattern), backend.registered or _LATEST, name)
        for name, backend in backends.items()
        for pattern in backend.record.scheduler_names
        if not backend.refusal and _matches(scheduler, pattern)
    ]
    return min(matches)[3] if matches else None


def outranked(name: str, backends: Mapping[str, Backend]) -> str:
    """Return which scheduler names of a backend another one answers for; empty if it has them all."""
    claimed = (one for one in backends[name].record.scheduler_names if one)
    winners = {one: _answering(one, backends) for one in claimed}
    return ", ".join(f"{one} ({by})" for one, by in winners.items() if by not in (name, None))


def _matches(scheduler: str, pattern: str) -> bool:
    # In a record only `*` and `?` are special; fnmatch also knows sets in brackets.
    return fnmatchcase(scheduler, pattern.replace("[", "[[]"))


def _scheduler_name(pcs: PodCliqueSet, backend: Backend | None) -> str:
    """The scheduler that the pods will have, as far as it is known before they are made."""
    named = _schedulers(pcs)
    if backend is None:
        return named[0] if named else ""
    members = backend.record.preparation.members
    if members is not None and members.spec is not None and members.spec.scheduler_name:
        return members.spec.scheduler_name
    patterns = backend.record.scheduler_names
    fitting = [n for n in named if any(_matches(n, pattern) for pattern in patterns)]
    plain = [pattern for pattern in patterns if pattern and not {"*", "?"} & set(pattern)]
    return next(iter((*fitting, *plain, *named)), "")


def _known(backends: Mapping[str, Backend]) -> str:
    listed = (
        f"{name} ({', '.join(pattern for pattern in backend.record.scheduler_names if pattern)})"
        for name, backend in sorted(backends.items())
        if not backend.refusal
    )
    return ", ".join(listed) or "none"
