"""The Node and the Lease to which pods of a far side are bound.

One node stands for all hosts of a backend, with the sum of their resources. Its taint keeps every
scheduler away: only this backend binds pods to it. The Lease is renewed as a kubelet does it; if
this process ends, the cluster marks the node as not ready, and no pod is lost by that, since a new
leader renews it. While no host can be reached the node stays, and reports that it is not ready.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from backend_controllers.contract.remote.executor import Executor, HostOffer
from backend_controllers.generic.conditions import moment
from backend_controllers.generic.context import BackendContext
from shared_api import names
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.quantities import written
from shared_api.kube.resources import LEASES, NODES
from shared_api.models import JsonObject
from shared_api.runtime.applying.applied_fields import Applied
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target
from shared_api.runtime.leading.fence import permitted
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.watching.cache import Cache

LEASE_NAMESPACE = "kube-node-lease"
TAINT = f"{names.GROVE_GROUP}/backend"
RENEW_SECONDS = 10.0
_LEASE_SECONDS = 40
_STATUS_SECONDS = 60.0
_MOST_PODS = 10_000


class VirtualNodeObject(msgspec.Struct, frozen=True):
    """The Node; its status is only written."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)


@dataclass(frozen=True, slots=True)
class LogAddress:
    """Where the API server asks for logs."""

    host: str
    port: int


class VirtualNode:
    """The Node of one backend; its key is the name of the backend."""

    def __init__(
        self,
        context: BackendContext,
        executor: Executor,
        nodes: Cache[Applied[VirtualNodeObject]],
        applier: Applier,
        logs: Callable[[], LogAddress | None] = lambda: None,
    ) -> None:
        self._context = context
        self._executor = executor
        self._nodes = Target(NODES, nodes)
        self._applier = applier
        self._logs = logs
        self._written_at = -_STATUS_SECONDS
        self._shown: object = None

    async def reconcile(self, key: ObjectKey) -> Result | None:
        """Write the node, its status if it is due, and renew the Lease."""
        behalf = Behalf(key, force=True)
        await self._applier.apply(self._nodes, node_manifest(key.name), behalf)
        if self._nodes.cache.get(key) is None:
            # Just created; the status follows when the cache has it.
            return Result(requeue_after=RENEW_SECONDS)
        hosts, now = self._executor.hosts(), self._context.clock.monotonic()
        logs = self._logs()
        if (hosts, logs) != self._shown or now - self._written_at >= _STATUS_SECONDS:
            status = node_status(key.name, hosts, moment(self._context.now()), logs)
            await self._applier.apply_status(self._nodes, status, behalf)
            self._shown, self._written_at = (hosts, logs), now
        await self._renew(key.name)
        return Result(requeue_after=RENEW_SECONDS)

    async def _renew(self, name: str) -> None:
        renewed = self._context.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lease = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": name, "namespace": LEASE_NAMESPACE},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": _LEASE_SECONDS,
                "renewTime": renewed,
            },
        }
        async with permitted(self._context.fence):
            # Only a leader comes here, so only a leader keeps the locks of hosts.
            await self._executor.renew()
            await self._context.client.apply(
                LEASES, lease, field_manager=self._context.field_manager, force=True
            )


def node_manifest(backend: str) -> JsonObject:
    """Return the Node of a backend, without its status."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": backend,
            "labels": {
                "kubernetes.io/hostname": backend,
                "node.kubernetes.io/exclude-from-external-load-balancers": "true",
                "type": "virtual-kubelet",
                names.LABEL_SCHEDULER_BACKEND: backend,
            },
        },
        "spec": {"taints": [{"key": TAINT, "value": backend, "effect": "NoSchedule"}]},
    }


def node_status(
    name: str, hosts: tuple[HostOffer, ...], now: str, logs: LogAddress | None
) -> JsonObject:
    """Return the status of a node that stands for these hosts."""
    reached = [host for host in hosts if not host.problem]
    capacity = _sum(host.total for host in reached)
    lost = len(hosts) - len(reached)
    message = f"{len(reached)} of {len(hosts)} hosts can be reached"
    ready: JsonObject = {
        "type": "Ready",
        "status": "True" if reached else "False",
        "reason": "HostsReachable" if reached else "HostsUnreachable",
        "message": message if not lost else f"{message}: {_problems(hosts)}",
        "lastHeartbeatTime": now,
    }
    status: JsonObject = {
        "capacity": {**capacity, "pods": str(_MOST_PODS)},
        "allocatable": {**capacity, "pods": str(_MOST_PODS)},
        "conditions": [ready],
    }
    if logs is not None:
        status["addresses"] = [{"type": "InternalIP", "address": logs.host}]
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": logs.port}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": status,
    }


def _problems(hosts: tuple[HostOffer, ...]) -> str:
    found = [f"{host.name}: {host.problem}" for host in hosts if host.problem]
    return "; ".join(found[:3])


def _sum(offers: Iterable[Mapping[str, int]]) -> dict[str, str]:
    total: dict[str, int] = {}
    for offer in offers:
        for resource, amount in offer.items():
            total[resource] = total.get(resource, 0) + amount
    return {resource: quantity(resource, amount) for resource, amount in total.items()}


def quantity(resource: str, amount: int) -> str:
    """Return an amount as Kubernetes writes it: cpu is counted in thousandths."""
    return written(Fraction(amount, 1000) if resource == "cpu" else Fraction(amount))
