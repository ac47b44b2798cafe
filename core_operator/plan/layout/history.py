"""The template hashes of a set, taken from its stored revisions.

A ControllerRevision stores the templates and the hashes that they were given. Templates that equal
stored ones keep the stored hashes, so an upgrade with another hash function replaces no pod. A
revision without hashes has those of the algorithm that it names. Only unknown templates get new
hashes. An update replaces a replica of a scaling group as a whole, so the hash of its cliques covers
all templates of the group. With OnDelete it covers only the template of the clique.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from core_operator.plan.layout.revisions import (
    FIRST_ALGORITHM,
    content_hash,
    revision_hash,
    stored_template_hash,
    template_hash,
)
from shared_api import names
from shared_api.models import PodCliqueSet

KEPT_REVISIONS = 10
"""Revisions that are kept besides the current one."""


@dataclass(frozen=True, slots=True)
class StoredRevision:
    """A stored revision: the hashes of its contents now, and those given at that time."""

    number: int = 0
    digests: Mapping[str, str] = field(default_factory=dict)
    """Current hash of each stored template by clique, to compare contents."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Hash that the pods of each clique were given."""
    set_hash: str = ""


def stored_revision(
    number: int, annotations: Mapping[str, str], data: Mapping[str, object]
) -> StoredRevision:
    """Return the content of a ControllerRevision; without the annotation each clique has its own hash."""
    cliques = data.get("cliques")
    if not isinstance(cliques, Mapping):
        return StoredRevision(number)
    priority = data.get("priorityClassName")
    digests = {
        str(name): stored_template_hash(template, priority) for name, template in cliques.items()
    }
    given = _given_hashes(annotations.get(names.ANNOTATION_TEMPLATE_HASHES, ""))
    algorithm = annotations.get(names.ANNOTATION_HASH_ALGORITHM, FIRST_ALGORITHM)
    own = {
        str(name): stored_template_hash(template, priority, algorithm)
        for name, template in cliques.items()
        if str(name) not in given
    }
    return StoredRevision(
        number=number,
        digests=digests,
        hashes={name: given[name] if name in given else own[name] for name in digests},
        set_hash=given.get("", "") or content_hash(data),
    )


def template_hashes(pcs: PodCliqueSet, stored: Iterable[StoredRevision]) -> dict[str, str]:
    """Return the template hash of each clique of the set."""
    revisions = _current_first(pcs, stored)
    digests = _digests(pcs)
    together = _replaced_together(pcs)
    return {name: _hash_of(name, together[name], digests, revisions) for name in digests}


def set_hash(pcs: PodCliqueSet, stored: Iterable[StoredRevision]) -> str:
    """Return the hash of all templates of the set."""
    digests = _digests(pcs)
    for revision in _current_first(pcs, stored):
        if revision.digests == digests:
            return revision.set_hash
    return revision_hash(pcs)


def hashes_annotation(set_hash: str, hashes: Mapping[str, str]) -> str:
    """Return the annotation with the hashes; the set's own hash has the key ""."""
    return json.dumps({"": set_hash, **hashes}, sort_keys=True, separators=(",", ":"))


def expired_revisions(stored: Mapping[str, StoredRevision], current: str) -> tuple[str, ...]:
    """Return the names of the oldest revisions; never the current one."""
    others = sorted(
        (name for name in stored if name != current), key=lambda name: -stored[name].number
    )
    return tuple(others[KEPT_REVISIONS:])


def _hash_of(
    name: str,
    together: Sequence[str],
    digests: Mapping[str, str],
    revisions: Sequence[StoredRevision],
) -> str:
    for revision in revisions:
        if name in revision.hashes and all(
            revision.digests.get(other) == digests[other] for other in together
        ):
            return revision.hashes[name]
    if len(together) == 1:
        return digests[name]
    return content_hash({other: digests[other] for other in together})


def _digests(pcs: PodCliqueSet) -> dict[str, str]:
    template = pcs.spec.template
    return {
        clique.name: template_hash(clique, template.priority_class_name)
        for clique in template.cliques
    }


def _replaced_together(pcs: PodCliqueSet) -> dict[str, tuple[str, ...]]:
    """Return the cliques that are replaced together with each clique, itself included."""
    template = pcs.spec.template
    known = {clique.name for clique in template.cliques}
    together: dict[str, tuple[str, ...]] = {name: (name,) for name in known}
    if not pcs.spec.updates_automatically:
        # Users delete pods one by one: a clique that did not change is not outdated.
        return together
    for group in template.pod_clique_scaling_groups:
        members = tuple(sorted(name for name in group.clique_names if name in known))
        together |= dict.fromkeys(members, members)
    return together


def _current_first(pcs: PodCliqueSet, stored: Iterable[StoredRevision]) -> list[StoredRevision]:
    """Return the revision that the pods have, then the others from the newest to the oldest.

    The first algorithm stored one revision per spelling. If several of them match, the pods keep
    the one that they have.
    """
    current = pcs.status.current_generation_hash if pcs.status else None
    return sorted(stored, key=lambda found: (found.set_hash != current, -found.number))


def _given_hashes(annotation: str) -> dict[str, str]:
    try:
        given = json.loads(annotation) if annotation else {}
    except ValueError:
        return {}
    if not isinstance(given, dict):
        return {}
    return {str(name): value for name, value in given.items() if isinstance(value, str)}
