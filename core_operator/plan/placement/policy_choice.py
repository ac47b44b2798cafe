"""The backend of a gang with a placement policy, as the condition BackendSelected explains it.

The ranking and the walk decide; this module only puts their result into a `Choice` and a message.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core_operator.plan.placement.backends import Choice, RegisteredBackend, scheduler_name
from core_operator.plan.placement.candidates import Ranking, Why, matches
from shared_api import names
from shared_api.models import (
    BackendSelector,
    PlacementPolicySpec,
    PodCliqueSet,
)

_LISTED = 8


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """The placement policy of a set; without a spec it does not exist, or cannot be read."""

    name: str
    spec: PlacementPolicySpec | None
    is_default: bool = False
    """It is that of core's settings: the set names none."""
    problem: str = ""
    """Why it cannot be read; empty if it can, or does not exist."""


def without_policy(
    pcs: PodCliqueSet, policy: NamedPolicy, backend: str | None, known: RegisteredBackend | None
) -> Choice:
    """Return the choice of a gang without a spec of its policy; it keeps the backend that it has."""
    annotation = names.ANNOTATION_PLACEMENT_POLICY
    remedy = f"change the annotation {annotation}"
    if policy.is_default:
        remedy = f"change core's setting backends.defaultPolicy, or set the annotation {annotation}"
    text = f"PlacementPolicy '{policy.name}' does not exist: create it, or {remedy}"
    return _refused(pcs, known, names.REASON_POLICY_NOT_FOUND, policy.problem or text, backend)


def policy_choice(  # noqa: PLR0913 - what a choice is made of
    pcs: PodCliqueSet,
    policy: NamedPolicy,
    ranking: Ranking,
    backends: Mapping[str, RegisteredBackend],
    backend: str | None,
    *,
    released: bool = False,
    following: str = "",
) -> Choice:
    """Return the choice of a gang with this backend; `following` is what happens next."""
    by = f"PlacementPolicy '{policy.name}'"
    unmatched = _listed(_unmatched(policy, backends))
    if backend is None:
        passed = _listed(f"{one.name}: {one.text}" for one in ranking.passed_over) or "none"
        text = f"{by} leaves no backend. Change it, or add an instance."
        text += f" No backend matches {unmatched}." if unmatched else ""
        text += f" Passed over: {passed}"
        is_down = any(one.why is Why.DOWN for one in ranking.passed_over)
        reason = names.REASON_BACKEND_UNAVAILABLE if is_down else names.REASON_NO_CANDIDATE
        return _refused(pcs, None, reason, text)
    passed_over = ranking.passed(backend)
    known = backends.get(backend)
    if not ranking.has(backend) and not (
        released and passed_over and passed_over.why is not Why.DOWN
    ):
        reason = _reason(known, passed_over.why if passed_over is not None else Why.DOWN)
        text = passed_over.text if passed_over is not None else "it has no record"
        return _refused(pcs, known, reason, f"backend '{backend}': {following or text}", backend)
    parts = [f"backend '{backend}' by {by}"]
    parts += [one.text for one in ranking.candidates if one.name == backend]
    if passed_over is not None:
        parts.append(f"which stays because it was released there, although {passed_over.text}")
    others = _listed(f"{o.name}: {o.text}" for o in ranking.candidates if o.name != backend)
    passed = _listed(f"{o.name}: {o.text}" for o in ranking.passed_over if o.name != backend)
    message = ", ".join(parts)
    more = (
        ("", following),
        ("no backend matches ", unmatched),
        ("others: ", others),
        ("passed over: ", passed),
    )
    for label, text in more:
        if text:
            message = f"{message}; {label}{text}"
    scheduler = scheduler_name(pcs, known)
    return Choice(backend, scheduler, ok=True, reason=names.REASON_SELECTED, message=message)


def _reason(known: RegisteredBackend | None, why: Why) -> str:
    if known is None:
        return names.REASON_BACKEND_UNKNOWN
    if why is Why.DOWN:
        return known.unavailable_because
    return names.REASON_UNSUPPORTED if why is Why.INCAPABLE else names.REASON_NO_CANDIDATE


def _refused(
    pcs: PodCliqueSet,
    known: RegisteredBackend | None,
    reason: str,
    message: str,
    backend: str | None = None,
) -> Choice:
    return Choice(backend, scheduler_name(pcs, known), ok=False, reason=reason, message=message)


def _unmatched(policy: NamedPolicy, backends: Mapping[str, RegisteredBackend]) -> Iterable[str]:
    """Return what the policy lists and no backend has: perhaps it is misspelled, or not installed."""
    if policy.spec is None:
        return ()
    listed = policy.spec.candidates
    # Avoiding a kind that is not installed is common; the name of one instance is not.
    avoided = (one for one in listed.avoid if one.name is not None)
    found = (
        _described(one)
        for one in (*listed.required, *listed.preferred, *avoided)
        if not any(matches(one, backend) for backend in backends.values())
    )
    return dict.fromkeys(found)


def _described(selector: BackendSelector) -> str:
    given = [("name", selector.name), ("kind", selector.kind), *sorted(selector.labels.items())]
    return " and ".join(f"{key} '{text}'" for key, text in given if text is not None)


def _listed(entries: Iterable[str]) -> str:
    found = list(entries)
    more = f", and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return ", ".join(found[:_LISTED]) + more
