"""A gang as the labels and annotations of its pods.

Nothing is written for the scheduler: the patches of the groups are published, and core creates pods
with them. They depend on the sizes of all groups and on the requests of their pods, so they wait
for the PodCliques. Surplus pods have the same application and no group. So they neither start a
reservation nor use the capacity that is reserved for a member.
"""

from collections.abc import Iterator

from backend_controllers.contract.cliques import cliques_of, missing_clique
from backend_controllers.contract.declaration import Facts, Translation
from backend_controllers.contract.pack_requests import pack_requests
from backend_controllers.contract.remarks import no_reservations
from backend_controllers.contract.requested_values import requested_values
from backend_controllers.yunikorn.api import (
    KEY_APPLICATION,
    KEY_GROUP,
    KEY_GROUPS,
    KEY_POLICY,
    KEY_QUEUE,
    SCHEDULER_NAME,
    YunikornClique,
    application,
)
from backend_controllers.yunikorn.options import YuniKornOptions
from backend_controllers.yunikorn.queues import queue_problem
from backend_controllers.yunikorn.task_groups import remarks_about, table
from shared_api.kube.pod_resources import NoQuantityError
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.models import PodPatch, PodPreparation, PodSpecPatch

# The gang's status contains the table once per group, and etcd stores at most 1.5 MiB of it.
_TABLES_AT_MOST = 768 * 1024


def translate(options: YuniKornOptions, gang: ObservedPodGang, facts: Facts) -> Translation:
    """Return the patches of a gang's groups, or all reasons to reject the gang."""
    requested = requested_values(gang, facts)
    if requested.missing:
        return Translation(lacks=requested.missing)
    cliques = cliques_of(gang, facts, YunikornClique)
    if missing := missing_clique(gang, cliques):
        return Translation(lacks=f"PodClique {missing}")
    queue = requested.value(KEY_QUEUE) or options.default_queue
    refusals = [*_refusals(gang, queue), *filter(None, [requested.contradiction(KEY_QUEUE)])]
    try:
        groups = table(gang, cliques)
    except NoQuantityError as error:
        return Translation(refusals=(*refusals, str(error)))
    size = len(groups) * len(gang.spec.podgroups)
    if size > _TABLES_AT_MOST:
        refusals.append(
            f"the gang has {len(gang.spec.podgroups)} groups, whose annotations have {size} bytes:"
            f" its status stores at most {_TABLES_AT_MOST}. Use fewer groups"
        )
    if refusals:
        return Translation(refusals=tuple(refusals))
    return Translation(
        preparations=tuple(_preparations(options, gang, groups, queue)),
        remarks=(*_remarks(gang, cliques), *no_reservations(gang, "YuniKorn")),
    )


def _preparations(
    options: YuniKornOptions, gang: ObservedPodGang, groups: str, queue: str | None
) -> Iterator[PodPreparation]:
    labels = {KEY_APPLICATION: application(gang)}
    if queue is not None:
        # A label: the label `queue`, which many pods have, overrides an annotation.
        labels[KEY_QUEUE] = queue
    # With the style Soft YuniKorn would schedule the gang pod by pod after the timeout.
    seconds = options.placeholder_timeout_seconds
    policy = f"placeholderTimeoutInSeconds={seconds} gangSchedulingStyle=Hard"
    spec = PodSpecPatch(scheduler_name=SCHEDULER_NAME)
    surplus = PodPatch(labels=labels, spec=spec)
    for group in gang.spec.podgroups:
        annotations = {KEY_GROUP: group.name, KEY_GROUPS: groups, KEY_POLICY: policy}
        members = PodPatch(labels=labels, annotations=annotations, spec=spec)
        yield PodPreparation(
            name=group.name, members=members if group.min_replicas else surplus, surplus=surplus
        )


def _refusals(gang: ObservedPodGang, queue: str | None) -> Iterator[str]:
    if not gang.spec.podgroups:
        yield "the gang has no groups"
    for request in pack_requests(gang):
        if request.pack.required:
            yield (
                f"{request.title} cannot be packed by {request.pack.required}: YuniKorn has no"
                " topology constraints. Remove the level, or use another backend"
            )
    if queue is not None and (problem := queue_problem(queue)) is not None:
        yield problem


def _remarks(gang: ObservedPodGang, cliques: dict[str, YunikornClique]) -> Iterator[str]:
    for group in gang.spec.podgroups:
        if group.min_replicas:
            yield from remarks_about(group, cliques[group.name])
