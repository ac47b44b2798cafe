"""Which template a clique is at, decided on the revisions that are stored.

A stored ControllerRevision carries the templates and the hashes that they were given. A set
whose templates equal a stored one has the stored hashes, whatever this program would compute
today, so that an upgrade which hashes otherwise replaces no pod. Only templates that no stored
revision has get new hashes. The cliques of one scaling group share a fate: a copy works as a
whole, so their hash covers all templates of the group.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from core_operator.plan.revisions import (
    content_hash,
    revision_hash,
    stored_template_hash,
    template_hash,
)
from shared_api import names
from shared_api.models import PodCliqueSet

KEPT_REVISIONS = 10
"""Revisions that stay beside the current one."""


@dataclass(frozen=True, slots=True)
class StoredRevision:
    """A revision as it was stored: what is in it, and how that was called then."""

    number: int = 0
    digests: Mapping[str, str] = field(default_factory=dict)
    """Today's hash of each stored template, by clique: for comparing contents."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """The hash that pods of each clique were given."""
    set_hash: str = ""


def stored_revision(
    number: int, annotations: Mapping[str, str], data: Mapping[str, object]
) -> StoredRevision:
    """What a ControllerRevision says; one without the annotation was hashed clique by clique."""
    cliques = data.get("cliques")
    if not isinstance(cliques, Mapping):
        return StoredRevision(number)
    priority = data.get("priorityClassName")
    digests = {
        str(name): stored_template_hash(template, priority) for name, template in cliques.items()
    }
    said = _said(annotations.get(names.ANNOTATION_TEMPLATE_HASHES, ""))
    return StoredRevision(
        number=number,
        digests=digests,
        hashes={name: said.get(name, digest) for name, digest in digests.items()},
        set_hash=said.get("", "") or content_hash(data),
    )


def template_hashes(pcs: PodCliqueSet, stored: Iterable[StoredRevision]) -> dict[str, str]:
    """The hash of the pods of each clique of the set."""
    newest = _newest_first(stored)
    digests = _digests(pcs)
    shares = _shares(pcs)
    return {name: _hash_of(name, shares[name], digests, newest) for name in digests}


def set_hash(pcs: PodCliqueSet, stored: Iterable[StoredRevision]) -> str:
    """The hash of all templates of the set."""
    digests = _digests(pcs)
    for revision in _newest_first(stored):
        if revision.digests == digests:
            return revision.set_hash
    return revision_hash(pcs)


def hashes_annotation(set_hash: str, hashes: Mapping[str, str]) -> str:
    """What a revision says about its hashes; that of the set has no name."""
    return json.dumps({"": set_hash, **hashes}, sort_keys=True, separators=(",", ":"))


def superfluous(stored: Mapping[str, StoredRevision], current: str) -> tuple[str, ...]:
    """Names of the oldest revisions; never the current one."""
    others = sorted(
        (name for name in stored if name != current), key=lambda name: -stored[name].number
    )
    return tuple(others[KEPT_REVISIONS:])


def _hash_of(
    name: str,
    shares: Sequence[str],
    digests: Mapping[str, str],
    newest: Sequence[StoredRevision],
) -> str:
    for revision in newest:
        if name in revision.hashes and all(
            revision.digests.get(other) == digests[other] for other in shares
        ):
            return revision.hashes[name]
    if len(shares) == 1:
        return digests[name]
    return content_hash({other: digests[other] for other in shares})


def _digests(pcs: PodCliqueSet) -> dict[str, str]:
    template = pcs.spec.template
    return {
        clique.name: template_hash(clique, template.priority_class_name)
        for clique in template.cliques
    }


def _shares(pcs: PodCliqueSet) -> dict[str, tuple[str, ...]]:
    """With whom each clique shares its fate, itself included."""
    template = pcs.spec.template
    known = {clique.name for clique in template.cliques}
    shares: dict[str, tuple[str, ...]] = {name: (name,) for name in known}
    for group in template.pod_clique_scaling_groups:
        members = tuple(sorted(name for name in group.clique_names if name in known))
        shares |= dict.fromkeys(members, members)
    return shares


def _newest_first(stored: Iterable[StoredRevision]) -> list[StoredRevision]:
    return sorted(stored, key=lambda revision: -revision.number)


def _said(annotation: str) -> dict[str, str]:
    try:
        said = json.loads(annotation) if annotation else {}
    except ValueError:
        return {}
    if not isinstance(said, dict):
        return {}
    return {str(name): value for name, value in said.items() if isinstance(value, str)}
