"""Which gang may create pods in a namespace whose quota is exhausted, and which gives pods back.

One gang has the turn; every other incomplete, gated gang gives back its pods. A turn ends when
the gang is complete, or when it is refused for good; then gangs of its shape back off. A gang with
an ungated or bound pod never gives back pods. The state of a namespace is a value: each function
takes one and returns the next.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType

from shared_api.kube.metadata import ObjectKey

SETTLED_AFTER = 5.0
"""Seconds in which kube-controller-manager lowers a quota's usage after a deletion."""
REFUSED_AFTER = 10.0
"""Seconds without progress after which a refusal is final, even while pods are being deleted."""
IDLE_AFTER = 30.0
"""Seconds without progress after which a gang that was not refused loses its turn."""
RESERVED_FOR = 60.0
"""Seconds for which no gang starts while a running one is below its minimum.

Its lost pods are seen before their replacements are requested, and those may have to wait.
"""
SECONDS_PER_POD = 0.5
"""How long a refused gang backs off for each pod that it gave back."""
_FIRST_RETRY, _LAST_RETRY = 0.25, 2.0
_FIRST_WAIT, _LAST_WAIT = 1.0, 60.0
_NAMED_BEFORE = 10
"""Only this many gangs get their position in the message, since every change of it is a write."""

Shape = tuple[object, ...]
"""Gangs of one shape request the same: if one of them does not fit, none does."""


class TurnPriority(IntEnum):
    """The order of turns: the lowest first."""

    BELOW_MINIMUM = 0
    NOT_STARTED = 1
    LACKS_SURPLUS = 2


@dataclass(frozen=True, slots=True)
class QuotaGang:
    """A gang of a constrained namespace."""

    key: ObjectKey
    owner: tuple[str, str]
    """Creation time and name of its set."""
    position: int
    """Its position among the gangs of its set: base gangs first, then scaled gangs."""
    shape: Shape
    priority: TurnPriority
    gated: int
    """Live pods, if none of them is ungated or bound."""
    missing: int
    """Pods that should exist and do not."""
    asks: bool
    """One of its PodCliques has pods to create."""
    base_lacks: bool = False
    """It is a scaled gang and its base gang is neither complete nor started."""

    @property
    def complete(self) -> bool:
        """Return whether it has all its pods."""
        return not self.missing and not self.asks

    @property
    def gives_back(self) -> bool:
        """Return whether its pods are useless while another gang has the turn."""
        return self.gated > 0 and (self.base_lacks or self.missing > 0)


@dataclass(frozen=True, slots=True)
class ShapeBackoff:
    """The back-off of a shape that was refused for good."""

    refusals: int
    """Refusals so far."""
    failures: int
    """Refusals since a pod was last deleted; the wait follows from them."""
    earliest: float
    until: float
    message: str


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The state of a constrained namespace."""

    message: str
    """The API server's last message."""
    turn: ObjectKey | None = None
    paused: bool = False
    """The gang with the turn was refused and waits for its next attempt."""
    tries: int = 0
    refused_at: float = 0.0
    retry_at: float = 0.0
    progress_at: float = 0.0
    missing: int = 0
    freed_at: float = -math.inf
    below: Mapping[ObjectKey, float] = field(default_factory=lambda: MappingProxyType({}))
    """Running gangs that are below their minimum, and since when."""
    backoffs: Mapping[Shape, ShapeBackoff] = field(default_factory=lambda: MappingProxyType({}))
    reserved_until: float = -math.inf
    """Until then only running gangs may create pods: core is deleting a pod of one of them."""

    def may_create(self, gang: ObjectKey) -> bool:
        """Return whether a gang may create pods now."""
        return self.turn == gang and not self.paused

    def refused(self, gang: ObjectKey, message: str, now: float) -> "QuotaState":
        """Return the state after the API server refused a pod of a gang."""
        if not self.may_create(gang):
            return replace(self, message=message)
        tries = self.tries + 1
        retry_at = now + _doubled(_FIRST_RETRY, _LAST_RETRY, tries)
        return replace(
            self, message=message, refused_at=now, paused=True, tries=tries, retry_at=retry_at
        )

    def reserve_for(self, gang: ObjectKey, now: float) -> "QuotaState":
        """Return the state before core deletes a pod of a running gang to replace it.

        The API server lowers the usage before the deletion is seen here. Without this, the gang
        with the turn could use what the replacement needs.
        """
        reserved = replace(self, reserved_until=now + SETTLED_AFTER)
        return (
            reserved if self.turn == gang else replace(reserved, turn=None, paused=False, tries=0)
        )

    def freed(self, now: float, *, given_back: bool) -> "QuotaState":
        """Return the state after a pod is deleted; pods given back do not end a back-off."""
        if given_back:
            return replace(self, freed_at=now)
        backoffs = {
            shape: replace(one, failures=0, until=one.earliest)
            for shape, one in self.backoffs.items()
        }
        return replace(self, freed_at=now, backoffs=backoffs)


@dataclass(frozen=True, slots=True)
class QuotaWait:
    """A gang that waits for quota, with the message."""

    gang: ObjectKey
    message: str


@dataclass(frozen=True, slots=True)
class QuotaStep:
    """What to do now."""

    state: QuotaState | None
    """The next state; None if the namespace is no longer constrained."""
    opened: bool
    """The gang with the turn may create pods from now on."""
    give_back: frozenset[ObjectKey]
    waits: tuple[QuotaWait, ...]
    """Gangs that do not have the turn, in their order."""
    again_in: float = 0.0


def turn_order(gangs: Iterable[QuotaGang], state: QuotaState | None = None) -> list[QuotaGang]:
    """Return the gangs that have pods to create, the next one first."""
    known = tuple(gangs)
    backoffs: Mapping[Shape, ShapeBackoff] = state.backoffs if state is not None else {}
    before = Counter(gang.owner for gang in known if not _is_new(gang))
    asking = sorted((gang for gang in known if gang.asks), key=lambda gang: gang.position)
    ranked = []
    for gang in asking:
        refusals = sum(one.refusals for one in _backoffs(backoffs, gang))
        ranked.append(
            ((gang.priority, refusals, before[gang.owner], gang.owner, gang.position), gang)
        )
        before[gang.owner] += _is_new(gang)
    return [gang for _, gang in sorted(ranked, key=lambda entry: entry[0])]


def plan_step(state: QuotaState, gangs: Sequence[QuotaGang], now: float) -> QuotaStep:
    """Return what to do in a constrained namespace with these gangs."""
    known = {gang.key: gang for gang in gangs}
    state = _judged(_noted(state, gangs, now), known, now)
    state, reserved = _reserved(state, known, now)
    reserved = reserved or now < state.reserved_until
    order = turn_order(gangs, state)
    opened = False
    if state.turn is None:
        ready = (
            gang
            for gang in order
            if not gang.base_lacks
            and _is_due(state, gang, now)
            and (not reserved or gang.priority is TurnPriority.BELOW_MINIMUM)
        )
        if (first := next(ready, None)) is not None:
            state, opened = _given(state, first, now), True
        elif not order:
            return QuotaStep(None, opened=False, give_back=frozenset(), waits=())
    elif state.paused and now >= state.retry_at:
        state, opened = replace(state, paused=False), True
    give_back = frozenset(gang.key for gang in gangs if gang.key != state.turn and gang.gives_back)
    if give_back:
        # The gang with the turn may be refused before these deletions are seen.
        state = replace(state, freed_at=now)
    return QuotaStep(state, opened, give_back, _waits(state, order), _again(state, order, now))


def _judged(state: QuotaState, gangs: Mapping[ObjectKey, QuotaGang], now: float) -> QuotaState:
    """Return the state without a turn that has ended."""
    if state.turn is None:
        return state
    gang = gangs.get(state.turn)
    over = replace(state, turn=None, paused=False, tries=0)
    if gang is None or gang.base_lacks:
        return over
    if gang.complete:
        done = {shape: one for shape, one in state.backoffs.items() if shape not in _shapes(gang)}
        return replace(over, backoffs=done)
    if gang.missing < state.missing:
        state = replace(state, missing=gang.missing, progress_at=now)
    final_at = min(state.freed_at + SETTLED_AFTER, state.progress_at + REFUSED_AFTER)
    if state.paused and state.refused_at >= final_at:
        return replace(over, backoffs=_backed_off(state, gang, gang.shape, now))
    if now - state.progress_at >= IDLE_AFTER:
        # Only this gang: others of its shape may fit.
        return replace(over, backoffs=_backed_off(state, gang, gang.key, now))
    return state


def _backed_off(
    state: QuotaState, gang: QuotaGang, shape: Shape, now: float
) -> Mapping[Shape, ShapeBackoff]:
    before = state.backoffs.get(shape)
    refusals, failures = (before.refusals, before.failures) if before is not None else (0, 0)
    earliest = now + SECONDS_PER_POD * gang.gated
    until = max(earliest, now + _doubled(_FIRST_WAIT, _LAST_WAIT, failures + 1))
    entry = ShapeBackoff(refusals + 1, failures + 1, earliest, until, state.message)
    return {**state.backoffs, shape: entry}


def _noted(state: QuotaState, gangs: Iterable[QuotaGang], now: float) -> QuotaState:
    """Return the state without deleted gangs, and with those below their minimum."""
    known = tuple(gangs)
    shapes = {shape for gang in known for shape in _shapes(gang)}
    below = (gang.key for gang in known if gang.priority is TurnPriority.BELOW_MINIMUM)
    return replace(
        state,
        backoffs={shape: one for shape, one in state.backoffs.items() if shape in shapes},
        below={key: state.below.get(key, now) for key in below},
    )


def _reserved(
    state: QuotaState, gangs: Mapping[ObjectKey, QuotaGang], now: float
) -> tuple[QuotaState, bool]:
    """Return the state without a turn that yields to a running gang, and whether others wait."""
    silent = any(
        now < since + RESERVED_FOR and not gangs[key].asks for key, since in state.below.items()
    )
    urgent = silent or any(
        gangs[key].asks and not _backoffs(state.backoffs, gangs[key]) for key in state.below
    )
    if urgent and state.turn is not None and state.turn not in state.below:
        state = replace(state, turn=None, paused=False, tries=0)
    return state, silent


def _shapes(gang: QuotaGang) -> tuple[Shape, Shape]:
    """Return under what a gang backs off: its shape, or itself."""
    return gang.shape, gang.key


def _backoffs(backoffs: Mapping[Shape, ShapeBackoff], gang: QuotaGang) -> list[ShapeBackoff]:
    return [backoffs[shape] for shape in _shapes(gang) if shape in backoffs]


def _given(state: QuotaState, gang: QuotaGang, now: float) -> QuotaState:
    return replace(
        state, turn=gang.key, paused=False, tries=0, progress_at=now, missing=gang.missing
    )


def _is_new(gang: QuotaGang) -> bool:
    return gang.priority is TurnPriority.NOT_STARTED and not gang.complete


def _is_due(state: QuotaState, gang: QuotaGang, now: float) -> bool:
    return all(one.until <= now for one in _backoffs(state.backoffs, gang))


def _waits(state: QuotaState, order: Sequence[QuotaGang]) -> tuple[QuotaWait, ...]:
    return tuple(
        QuotaWait(gang.key, _message(state, gang, before))
        for before, gang in enumerate(order)
        if gang.key != state.turn
    )


def _message(state: QuotaState, gang: QuotaGang, before: int) -> str:
    name, remedy = gang.key.name, "Raise the quota or delete pods"
    if before > _NAMED_BEFORE:
        return f"gang {name} waits for quota after more than {_NAMED_BEFORE} other gangs. {remedy}"
    backoff = state.backoffs.get(gang.shape)
    problem = f"waits for ResourceQuota {state.message}"
    if backoff is not None:
        problem = f"does not fit into ResourceQuota {backoff.message}"
    others = {0: "", 1: " 1 gang is before it."}.get(before, f" {before} gangs are before it.")
    return f"gang {name} {problem}.{others} {remedy}"


def _again(state: QuotaState, order: Sequence[QuotaGang], now: float) -> float:
    if state.turn is not None:
        return max(0.0, (state.retry_at if state.paused else state.progress_at + IDLE_AFTER) - now)
    untils = [one.until for gang in order for one in _backoffs(state.backoffs, gang)]
    untils += [state.reserved_until, *(since + RESERVED_FOR for since in state.below.values())]
    return min((at for at in untils if at > now), default=now + _LAST_WAIT) - now


def _doubled(first: float, most: float, times: int) -> float:
    # The exponent is limited so that it cannot overflow a float after days of refusals.
    return min(most, first * 2.0 ** min(times - 1, 16))
