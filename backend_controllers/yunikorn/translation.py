"""A gang as what its pods carry.

Nothing is written for the scheduler: the patches of the groups are published, and core makes
pods with them. They follow from the sizes of all groups and from what pods of each ask for, so
they wait for the PodCliques. Surplus pods are of the same application and of no group: they
neither start a reservation nor take the place that is held for a member.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from backend_controllers.contract.declaration import Facts, Translation
from backend_controllers.yunikorn import queues
from backend_controllers.yunikorn.api import (
    CLIQUES,
    KEY_APPLICATION,
    KEY_GROUP,
    KEY_GROUPS,
    KEY_POLICY,
    KEY_QUEUE,
    SCHEDULER_NAME,
    ObservedClique,
    application,
)
from backend_controllers.yunikorn.options import YuniKornOptions
from backend_controllers.yunikorn.task_groups import remarks_about, table
from shared_api.kube.pod_resources import NoQuantityError
from shared_api.kube.podgangs import GangTopologyConstraint, PodGang, PodGroup
from shared_api.models import PodPatch, PodPreparation, PodSpecPatch

# The table is in the gang's status once per group, and etcd takes 1.5 MiB for all of it.
_TABLES_AT_MOST = 768 * 1024


@dataclass(frozen=True, slots=True)
class Carried:
    """What all pods of a gang carry."""

    application: str
    table: str
    policy: str
    queue: str | None


def translate(options: YuniKornOptions, gang: PodGang, facts: Facts) -> Translation:
    """The patches of a gang's groups, or all that stands against them."""
    namespace = gang.metadata.namespace
    found = {group.name: facts.get(CLIQUES, namespace, group.name) for group in gang.spec.podgroups}
    cliques = {name: clique for name, clique in found.items() if isinstance(clique, ObservedClique)}
    absent = [name for name in found if name not in cliques]
    if absent:
        return Translation(lacks=f"PodClique {absent[0]}")
    refusals = list(_refusals(gang))
    queue = queues.queue_of(gang, options.default_queue)
    if queue is not None and (flaw := queues.flaw_of(queue)) is not None:
        refusals.append(flaw)
    try:
        groups = table(gang, cliques)
    except NoQuantityError as error:
        return Translation(refusals=(*refusals, str(error)))
    size = len(groups) * len(gang.spec.podgroups)
    if size > _TABLES_AT_MOST:
        refusals.append(
            f"{len(gang.spec.podgroups)} groups: what their pods carry takes {size} bytes,"
            f" and a gang has room for {_TABLES_AT_MOST}; make it of fewer groups"
        )
    if refusals:
        return Translation(refusals=tuple(refusals))
    carried = Carried(application(gang), groups, _policy(options), queue)
    return Translation(
        preparations=tuple(_preparation(group, carried) for group in gang.spec.podgroups),
        remarks=tuple(_remarks(gang, cliques)),
    )


def _policy(options: YuniKornOptions) -> str:
    # Soft would give a gang up after the time, and schedule it pod by pod.
    seconds = options.placeholder_timeout_seconds
    return f"placeholderTimeoutInSeconds={seconds} gangSchedulingStyle=Hard"


def _preparation(group: PodGroup, carried: Carried) -> PodPreparation:
    labels = {KEY_APPLICATION: carried.application}
    if carried.queue is not None:
        # As a label: pods' own label `queue`, which many have, wins over an annotation.
        labels[KEY_QUEUE] = carried.queue
    spec = PodSpecPatch(scheduler_name=SCHEDULER_NAME)
    surplus = PodPatch(labels=labels, spec=spec)
    if group.min_replicas == 0:
        return PodPreparation(name=group.name, members=surplus, surplus=surplus)
    annotations = {
        KEY_GROUP: group.name,
        KEY_GROUPS: carried.table,
        KEY_POLICY: carried.policy,
    }
    members = PodPatch(labels=labels, annotations=annotations, spec=spec)
    return PodPreparation(name=group.name, members=members, surplus=surplus)


def _refusals(gang: PodGang) -> Iterator[str]:
    if not gang.spec.podgroups:
        yield "the gang has no groups"
    if _requires(gang.spec.topology_constraint):
        yield "a required topology level for the gang"
    for config in gang.spec.topology_constraint_group_configs:
        if _requires(config.topology_constraint):
            yield f"a required topology level for groups {', '.join(config.pod_group_names)}"
    for group in gang.spec.podgroups:
        if _requires(group.topology_constraint):
            yield f"a required topology level for group {group.name}"


def _requires(constraint: GangTopologyConstraint | None) -> bool:
    pack = constraint.pack_constraint if constraint is not None else None
    return pack is not None and bool(pack.required)


def _remarks(gang: PodGang, cliques: dict[str, ObservedClique]) -> Iterator[str]:
    for group in gang.spec.podgroups:
        if group.min_replicas:
            yield from remarks_about(group, cliques[group.name])
    if gang.spec.reuse_reservation_ref is not None:
        yield "YuniKorn has no reservations that could be taken over"
