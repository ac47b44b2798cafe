"""What wakes whom about claims, ComputeDomains and what they are made of.

A claim or a domain that goes, or loses what we wrote, wakes its owner; that it is allocated or
reserved wakes nobody. A claim template that appears or is shared with other namespaces than
before, and an API that appears or goes, wakes the sets that need it with all that is theirs.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from core_operator.plan.claims import ClaimTemplate, grant, shares_claims
from core_operator.plan.compute_domains import asks_for_group
from core_operator.state.caches import CLAIM_TEMPLATE, CLIQUES, GROUPS, OWNER, SETS, Caches
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import Resource
from shared_api.models import PodCliqueSet
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.queueing.queue import Queue
from shared_api.runtime.watching.cache import key_of
from shared_api.runtime.watching.event_handlers import feed, its_controller
from shared_api.runtime.watching.owners import identity
from shared_api.runtime.watching.predicates import Watched


@dataclass(frozen=True, slots=True)
class SharingQueues:
    """The controllers whose objects own claims."""

    sets: Queue[ObjectKey]
    groups: Queue[ObjectKey]
    cliques: Queue[ObjectKey]


def feed_sharing(caches: Caches, queues: SharingQueues) -> None:
    """Have all of them told."""
    feed(queues.sets, caches.claims, its_controller(SETS), when=is_bent)
    feed(queues.groups, caches.claims, its_controller(GROUPS), when=is_bent)
    feed(queues.cliques, caches.claims, its_controller(CLIQUES), when=is_bent)
    feed(queues.sets, caches.domains, its_controller(SETS), when=is_bent)

    def wake(sets: Iterable[Applied[PodCliqueSet]]) -> None:
        for pcs in sets:
            queues.sets.add(key_of(pcs))
            owners = [identity(SETS, pcs)]
            for group in caches.groups.by_index(OWNER, identity(SETS, pcs)):
                queues.groups.add(key_of(group))
                owners.append(identity(GROUPS, group))
            for owner in owners:
                for clique in caches.cliques.by_index(OWNER, owner):
                    queues.cliques.add(key_of(clique))

    def on_template(old: ClaimTemplate | None, new: ClaimTemplate | None) -> None:
        if new is not None and (old is None or grant(old) != grant(new)):
            wake(caches.sets.by_index(CLAIM_TEMPLATE, str(key_of(new))))

    def on_offer(resource: Resource) -> None:
        del resource
        wake([pcs for pcs in caches.sets if _depends_on_offer(pcs.object)])

    caches.claim_templates.subscribe(on_template)
    caches.offer.subscribe(on_offer)


def is_bent(old: Watched | None, new: Watched | None) -> bool:
    """Something of ours went, or its labels or owner are not what they were."""
    if old is None or new is None:
        return old is not None
    before, after = old.metadata, new.metadata
    return (
        before.labels != after.labels
        or before.owner_references != after.owner_references
        or before.generation != after.generation
    )


def _depends_on_offer(pcs: PodCliqueSet) -> bool:
    return shares_claims(pcs) or asks_for_group(pcs)
