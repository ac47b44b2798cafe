"""Adds the controllers of a far side to the process of a backend."""

from collections.abc import Callable, Iterable

from backend_controllers.contract.remote.api import REMOTE_GANGS, RemotePod
from backend_controllers.contract.remote.executor import Executor
from backend_controllers.generic import predicates
from backend_controllers.generic.caches import GANG, BackendCaches, by_gang
from backend_controllers.generic.context import BackendContext
from backend_controllers.generic.kinds import INVENTORIES, named, served_by
from backend_controllers.remote.gang_reconciler import RemoteGangReconciler
from backend_controllers.remote.inventory import HostInventory
from backend_controllers.remote.virtual_node import LogAddress, VirtualNode, VirtualNodeObject
from shared_api import names
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import NODES, PODS
from shared_api.models import BackendInventory
from shared_api.runtime.applying.applied_fields import applied
from shared_api.runtime.manager import Manager
from shared_api.runtime.reconciling.builder import Builder
from shared_api.runtime.reconciling.controller import Controller
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.event_handlers import its_label
from shared_api.runtime.watching.predicates import more_than_status
from shared_api.runtime.watching.reflector import Source

_GANG_OF_POD = its_label(names.LABEL_PODGANG)


def extend(context: BackendContext, manager: Manager, caches: BackendCaches) -> None:
    """Add the controllers of a far side to a manager, if the backend has one."""
    if context.backend.executor is not None:
        executor = context.backend.executor(context.settings.options, context.backend.name)
        attach(context, manager, caches, executor)


def attach(
    context: BackendContext,
    manager: Manager,
    caches: BackendCaches,
    executor: Executor,
) -> None:
    """Add an executor and its controllers to a manager."""
    manager.follow("far side", executor.run, executor.wait_synced, lambda: None)
    backend = context.backend.name
    pods = manager.watch(Source(PODS, RemotePod, selector=served_by(backend)), {GANG: by_gang})
    manager.add(_gangs(context, caches, executor, pods))
    manager.add(_node(context, manager, executor, _logs(context, manager, executor, pods)))
    if context.settings.inventory.enabled:
        manager.add(_inventory(context, manager, executor))


def _logs(
    context: BackendContext, manager: Manager, executor: Executor, pods: Cache[RemotePod]
) -> Callable[[], LogAddress | None]:
    if not context.settings.logs.enabled:
        return lambda: None
    # Only a process with a far side needs certificates.
    from backend_controllers.remote.kubelet_endpoint import KubeletEndpoint

    endpoint = KubeletEndpoint(context, context.settings.logs, executor, pods)
    manager.follow("kubectl logs", endpoint.run, endpoint.wait_tried, lambda: None)
    return endpoint.address


def _gangs(
    context: BackendContext, caches: BackendCaches, executor: Executor, pods: Cache[RemotePod]
) -> Controller:
    remotes = caches.written[REMOTE_GANGS]
    return (
        Builder("remotegang", context.runtime)
        # Units whose RemoteGang is gone are released, so a key needs no object.
        .options(
            workers=context.settings.concurrency.pod_gangs, deadline=120, exists=lambda _: True
        )
        .for_(remotes, when=predicates.content_differs)
        .watches(pods, _GANG_OF_POD, when=predicates.content_differs)
        .receives(executor.changed, _itself)
        .build(
            lambda applier: RemoteGangReconciler(context, executor, remotes, pods, applier),
            first=lambda _: executor.gangs(),
        )
    )


def _node(
    context: BackendContext,
    manager: Manager,
    executor: Executor,
    logs: Callable[[], LogAddress | None],
) -> Controller:
    name = context.backend.name
    kept = applied(VirtualNodeObject, context.field_manager)
    nodes = manager.watch(Source(NODES, kept, selector=named(name)))
    return (
        Builder("virtual-node", context.runtime)
        .options(workers=1, exists=lambda _: True)
        .for_(nodes, when=predicates.drifted(context.field_manager))
        .build(
            lambda applier: VirtualNode(context, executor, nodes, applier, logs),
            first=lambda _: (ObjectKey("", name),),
        )
    )


def _inventory(context: BackendContext, manager: Manager, executor: Executor) -> Controller:
    name = context.backend.name
    own = Source(INVENTORIES, applied(BackendInventory), selector=named(name))
    inventories = manager.watch(own)
    return (
        Builder("inventory", context.runtime)
        .options(workers=1, exists=lambda _: True)
        .for_(inventories, when=more_than_status)
        .build(
            lambda applier: HostInventory(context, executor, inventories, applier),
            first=lambda _: (ObjectKey("", name),),
        )
    )


def _itself(key: ObjectKey) -> Iterable[ObjectKey]:
    return (key,)
