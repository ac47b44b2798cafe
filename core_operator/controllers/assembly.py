"""The twelve controllers of core, each with its table of watches and its reconciler.

What makes a controller reconcile a key is in `watches/tables.py`.
"""

from collections.abc import Callable

from core_operator.context import CoreContext
from core_operator.controllers.backend import BackendReconciler
from core_operator.controllers.jobs import JobReconciler
from core_operator.controllers.lifecycle import LifecycleReconciler
from core_operator.controllers.podclique import PodCliqueReconciler
from core_operator.controllers.podcliqueset import PodCliqueSetReconciler
from core_operator.controllers.podgang import PodGangReconciler
from core_operator.controllers.quota import QuotaReconciler
from core_operator.controllers.scaling_group import ScalingGroupReconciler
from core_operator.controllers.startup_order import StartupOrderReconciler
from core_operator.controllers.statuses import (
    PodCliqueSetStatusReconciler,
    PodCliqueStatusReconciler,
    ScalingGroupStatusReconciler,
)
from core_operator.watches.tables import WatchTables
from shared_api import names
from shared_api.kube.http.slots import Urgency
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.reconciling.builder import Builder, Runtime
from shared_api.runtime.reconciling.controller import Controller

# All children of a set with thousands of replicas are written in one reconcile.
_DEADLINE = 600.0


def build_controllers(context: CoreContext) -> tuple[Controller, ...]:
    """Return all controllers of one process."""
    caches, tables = context.view.caches, WatchTables(context)
    workers = context.settings.concurrency
    postponed = context.progress_debouncer()

    def builder(
        name: str,
        workers: int,
        *,
        urgency: Urgency = Urgency.FINISH,
        manager: str = names.FIELD_MANAGER_CORE,
        exists: Callable[[ObjectKey], bool] | None = None,
    ) -> Builder:
        # Requests that finish a gang go before those that begin one: in a large start the first
        # gangs are ungated while the last are still being created.
        runtime = Runtime(
            context.client.at(urgency),
            context.telemetry,
            manager,
            context.fence,
            context.clock,
            context.settings.concurrency.writes,
        )
        return Builder(name, runtime).options(workers=workers, deadline=_DEADLINE, exists=exists)

    return (
        tables.podcliqueset(
            builder("podcliqueset", workers.pod_clique_sets, urgency=Urgency.BEGIN)
        ).build(lambda applier: PodCliqueSetReconciler(context, applier)),
        tables.scaling_group(
            builder("podcliquescalinggroup", workers.pod_cliques, urgency=Urgency.BEGIN)
        ).build(lambda applier: ScalingGroupReconciler(context, applier)),
        tables.podclique(
            builder(
                "podclique",
                workers.pod_cliques,
                urgency=Urgency.GO_ON,
                exists=caches.cliques.knows,
            )
        ).build(lambda applier: PodCliqueReconciler(context, applier)),
        tables.podgang(builder("podgang", workers.pod_gangs)).build(
            lambda applier: PodGangReconciler(context, applier),
            first=PodGangReconciler.interrupted,
        ),
        tables.quota(builder("quota", workers.pod_clique_sets, exists=context.turns.knows)).build(
            lambda applier: QuotaReconciler(context, applier), first=lambda _: context.turns
        ),
        tables.startup_order(
            builder("startup-order", workers.pod_gangs, exists=caches.gangs.knows)
        ).build(lambda applier: StartupOrderReconciler(context, applier)),
        tables.backend(builder("schedulerbackend", 1)).build(
            lambda applier: BackendReconciler(context, applier)
        ),
        tables.podclique_status(builder("podclique-status", workers.statuses), postponed).build(
            lambda applier: PodCliqueStatusReconciler(context, applier, postponed)
        ),
        tables.scaling_group_status(
            builder("podcliquescalinggroup-status", workers.statuses)
        ).build(lambda applier: ScalingGroupStatusReconciler(context, applier)),
        tables.podcliqueset_status(builder("podcliqueset-status", workers.statuses)).build(
            lambda applier: PodCliqueSetStatusReconciler(context, applier)
        ),
        tables.lifecycle(
            builder(
                "podcliqueset-lifecycle",
                workers.pod_clique_sets,
                manager=names.FIELD_MANAGER_LIFECYCLE,
            )
        ).build(lambda applier: LifecycleReconciler(context, applier)),
        tables.jobs(
            builder("podcliqueset-jobs", workers.pod_clique_sets, manager=names.FIELD_MANAGER_JOBS)
        ).build(lambda applier: JobReconciler(context, applier)),
    )
