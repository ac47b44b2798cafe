"""Which gang may create pods in a namespace whose quota is exhausted, and which must give back.

One gang has the turn; every other gang that is incomplete and gated gives back its pods. A turn
ends when the gang is complete, or when it is refused for good and set aside for a while. Gangs of
which a pod is ungated or bound never give back anything. The module owns no clock and no client:
the state of a namespace goes in as a value and comes out as another one.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType

from shared_api.kube.metadata import ObjectKey

SETTLED_AFTER = 5.0
"""Seconds in which kube-controller-manager lowers the usage of a quota after pods are gone."""
REFUSED_AFTER = 10.0
"""Seconds without progress after which a refusal is final although pods go all the time."""
IDLE_AFTER = 30.0
"""Seconds without progress after which a gang loses its turn that was not refused."""
RESERVED_FOR = 60.0
"""Seconds for which nobody starts while a running gang is below its minimum and does not ask.

Pods are seen to be gone before they are replaced, and the replacement may have to wait.
"""
SECONDS_PER_POD = 0.5
"""How long a gang that was refused stays away, for each pod that it gave back."""
_FIRST_RETRY, _LAST_RETRY = 0.25, 2.0
_FIRST_WAIT, _LAST_WAIT = 1.0, 60.0
_NAMED_BEFORE = 10
"""Gangs further back are not told their place, which would be a write for each of them."""

Kind = tuple[object, ...]
"""Gangs with the same kind ask for the same: if one of them does not fit, none does."""


class Standing(IntEnum):
    """How far a gang is; the lower, the earlier it gets its turn."""

    BELOW_MINIMUM = 0
    NOT_STARTED = 1
    LACKS_SURPLUS = 2


@dataclass(frozen=True, slots=True)
class Contender:
    """A gang of a constrained namespace."""

    key: ObjectKey
    owner: tuple[str, str]
    """Creation time and name of its set."""
    position: int
    """Its place among the gangs of its set: base gangs first, then scaled gangs."""
    kind: Kind
    standing: Standing
    gated: int
    """Live pods, if none of them is ungated or bound."""
    missing: int
    """Pods that it should have and does not."""
    asks: bool
    """A PodClique of it has pods to create."""
    base_lacks: bool = False
    """It is a scaled gang, and its base gang is neither complete nor started."""

    @property
    def complete(self) -> bool:
        """Tell whether it has all its pods."""
        return not self.missing and not self.asks

    @property
    def gives_back(self) -> bool:
        """Tell whether its pods are of no use while another gang has the turn."""
        return self.gated > 0 and (self.base_lacks or self.missing > 0)


@dataclass(frozen=True, slots=True)
class Aside:
    """A kind of gang that was refused for good, until it may try again."""

    refusals: int
    """How often ever."""
    failures: int
    """How often since pods were last gone: what the wait follows from."""
    earliest: float
    until: float
    message: str


@dataclass(frozen=True, slots=True)
class Line:
    """The state of a constrained namespace."""

    message: str
    """What the API server said last."""
    turn: ObjectKey | None = None
    paused: bool = False
    """The gang with the turn was refused, and waits for its next try."""
    tries: int = 0
    refused_at: float = 0.0
    retry_at: float = 0.0
    progress_at: float = 0.0
    missing: int = 0
    freed_at: float = -math.inf
    below: Mapping[ObjectKey, float] = field(default_factory=lambda: MappingProxyType({}))
    """Running gangs that are below their minimum, and since when."""
    aside: Mapping[Kind, Aside] = field(default_factory=lambda: MappingProxyType({}))
    held_until: float = -math.inf
    """Until then only gangs that run may create: core is about to delete a pod of one of them."""

    def may_create(self, gang: ObjectKey) -> bool:
        """Tell whether a gang may create pods now."""
        return self.turn == gang and not self.paused

    def refused(self, gang: ObjectKey, message: str, now: float) -> "Line":
        """The state after the API server has refused a pod of a gang."""
        if not self.may_create(gang):
            return replace(self, message=message)
        tries = self.tries + 1
        retry_at = now + _doubled(_FIRST_RETRY, _LAST_RETRY, tries)
        told = replace(self, message=message, refused_at=now)
        return replace(told, paused=True, tries=tries, retry_at=retry_at)

    def held_for(self, gang: ObjectKey, now: float) -> "Line":
        """The state before core deletes a pod of a running gang in order to replace it.

        The API server lowers the usage before the deletion is seen here. Without this, the gang
        with the turn could take what the replacement needs.
        """
        held = replace(self, held_until=now + SETTLED_AFTER)
        return held if self.turn == gang else replace(held, turn=None, paused=False, tries=0)

    def freed(self, now: float, *, given_back: bool) -> "Line":
        """The state after a pod is gone; what a gang gave back is nothing new to the others."""
        if given_back:
            return replace(self, freed_at=now)
        aside = {
            kind: replace(one, failures=0, until=one.earliest) for kind, one in self.aside.items()
        }
        return replace(self, freed_at=now, aside=aside)


@dataclass(frozen=True, slots=True)
class Wait:
    """A gang that waits for quota, and why."""

    gang: ObjectKey
    message: str


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now."""

    line: Line | None
    """The next state; None if the namespace is not constrained any more."""
    opened: bool
    """The gang with the turn may try from now on."""
    give_back: frozenset[ObjectKey]
    waits: tuple[Wait, ...]
    """Gangs that do not have the turn, in their order."""
    again_in: float = 0.0


def in_order(gangs: Iterable[Contender], line: Line | None = None) -> list[Contender]:
    """The gangs that ask for pods, the next one first."""
    known = tuple(gangs)
    aside: Mapping[Kind, Aside] = line.aside if line is not None else {}
    before = Counter(gang.owner for gang in known if not _is_new(gang))
    asking = sorted((gang for gang in known if gang.asks), key=lambda gang: gang.position)
    ranked = []
    for gang in asking:
        refusals = sum(one.refusals for one in _asides(aside, gang))
        ranked.append(
            ((gang.standing, refusals, before[gang.owner], gang.owner, gang.position), gang)
        )
        before[gang.owner] += _is_new(gang)
    return [gang for _, gang in sorted(ranked, key=lambda entry: entry[0])]


def plan_step(line: Line, gangs: Sequence[Contender], now: float) -> Step:
    """What to do in a constrained namespace with these gangs."""
    known = {gang.key: gang for gang in gangs}
    line = _judged(_noted(line, gangs, now), known, now)
    line, reserved = _reserved(line, known, now)
    reserved = reserved or now < line.held_until
    order = in_order(gangs, line)
    opened = False
    if line.turn is None:
        ready = (
            gang
            for gang in order
            if not gang.base_lacks
            and _is_due(line, gang, now)
            and (not reserved or gang.standing is Standing.BELOW_MINIMUM)
        )
        if (first := next(ready, None)) is not None:
            line, opened = _given(line, first, now), True
        elif not order:
            return Step(None, opened=False, give_back=frozenset(), waits=())
    elif line.paused and now >= line.retry_at:
        line, opened = replace(line, paused=False), True
    give_back = frozenset(gang.key for gang in gangs if gang.key != line.turn and gang.gives_back)
    if give_back:
        # The gang with the turn may be refused before the deletions are seen.
        line = replace(line, freed_at=now)
    return Step(line, opened, give_back, _waits(line, order), _again(line, order, now))


def _judged(line: Line, gangs: Mapping[ObjectKey, Contender], now: float) -> Line:
    """The state without a turn that is over."""
    if line.turn is None:
        return line
    gang = gangs.get(line.turn)
    over = replace(line, turn=None, paused=False, tries=0)
    if gang is None or gang.base_lacks:
        return over
    if gang.complete:
        done = {kind: one for kind, one in line.aside.items() if kind not in _kinds(gang)}
        return replace(over, aside=done)
    if gang.missing < line.missing:
        line = replace(line, missing=gang.missing, progress_at=now)
    final_at = min(line.freed_at + SETTLED_AFTER, line.progress_at + REFUSED_AFTER)
    if line.paused and line.refused_at >= final_at:
        return replace(over, aside=_set_aside(line, gang, gang.kind, now))
    if now - line.progress_at >= IDLE_AFTER:
        # Others of its kind may be fine.
        return replace(over, aside=_set_aside(line, gang, gang.key, now))
    return line


def _set_aside(line: Line, gang: Contender, kind: Kind, now: float) -> Mapping[Kind, Aside]:
    before = line.aside.get(kind)
    refusals, failures = (before.refusals, before.failures) if before is not None else (0, 0)
    earliest = now + SECONDS_PER_POD * gang.gated
    until = max(earliest, now + _doubled(_FIRST_WAIT, _LAST_WAIT, failures + 1))
    entry = Aside(refusals + 1, failures + 1, earliest, until, line.message)
    return {**line.aside, kind: entry}


def _noted(line: Line, gangs: Iterable[Contender], now: float) -> Line:
    """The state without what is gone, and with the gangs that are below their minimum."""
    known = tuple(gangs)
    kinds = {kind for gang in known for kind in _kinds(gang)}
    below = (gang.key for gang in known if gang.standing is Standing.BELOW_MINIMUM)
    return replace(
        line,
        aside={kind: one for kind, one in line.aside.items() if kind in kinds},
        below={key: line.below.get(key, now) for key in below},
    )


def _reserved(line: Line, gangs: Mapping[ObjectKey, Contender], now: float) -> tuple[Line, bool]:
    """The state without a turn that must yield to a running gang; whether others must wait."""
    silent = any(
        now < since + RESERVED_FOR and not gangs[key].asks for key, since in line.below.items()
    )
    urgent = silent or any(
        gangs[key].asks and not _asides(line.aside, gangs[key]) for key in line.below
    )
    if urgent and line.turn is not None and line.turn not in line.below:
        line = replace(line, turn=None, paused=False, tries=0)
    return line, silent


def _kinds(gang: Contender) -> tuple[Kind, Kind]:
    """What it is set aside as: one of its kind, or by itself."""
    return gang.kind, gang.key


def _asides(aside: Mapping[Kind, Aside], gang: Contender) -> list[Aside]:
    return [aside[kind] for kind in _kinds(gang) if kind in aside]


def _given(line: Line, gang: Contender, now: float) -> Line:
    return replace(
        line, turn=gang.key, paused=False, tries=0, progress_at=now, missing=gang.missing
    )


def _is_new(gang: Contender) -> bool:
    return gang.standing is Standing.NOT_STARTED and not gang.complete


def _is_due(line: Line, gang: Contender, now: float) -> bool:
    return all(one.until <= now for one in _asides(line.aside, gang))


def _waits(line: Line, order: Sequence[Contender]) -> tuple[Wait, ...]:
    return tuple(
        Wait(gang.key, _message(line, gang, before))
        for before, gang in enumerate(order)
        if gang.key != line.turn
    )


def _message(line: Line, gang: Contender, before: int) -> str:
    name, do = gang.key.name, "Raise the quota or delete pods"
    if before > _NAMED_BEFORE:
        return f"gang {name} waits for quota after more than {_NAMED_BEFORE} other gangs. {do}"
    aside = line.aside.get(gang.kind)
    said = f"waits for ResourceQuota {line.message}"
    if aside is not None:
        said = f"does not fit into ResourceQuota {aside.message}"
    others = {0: "", 1: " 1 gang is before it."}.get(before, f" {before} gangs are before it.")
    return f"gang {name} {said}.{others} {do}"


def _again(line: Line, order: Sequence[Contender], now: float) -> float:
    if line.turn is not None:
        return max(0.0, (line.retry_at if line.paused else line.progress_at + IDLE_AFTER) - now)
    untils = [one.until for gang in order for one in _asides(line.aside, gang)]
    untils += [line.held_until, *(since + RESERVED_FOR for since in line.below.values())]
    return min((at for at in untils if at > now), default=now + _LAST_WAIT) - now


def _doubled(first: float, most: float, times: int) -> float:
    # The exponent is cut so that what is refused for days cannot overflow a float.
    return min(most, first * 2.0 ** min(times - 1, 16))
