"""A namespace with nodes of its own: what a test makes there competes with no other test.

Every node has room for one pod that asks for `CPU`, and its taint keeps other pods away.
"""

import contextlib
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

from backend_controllers.generic.kinds import BACKENDS, GANGS
from core_operator.state.caches import SETS
from local_cluster.simulation.nodes import simulated_node
from local_cluster.waiting import until
from shared_api import names
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client, Selector
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.resources import (
    NAMESPACES,
    NODES,
    PRIORITY_CLASSES,
    SERVICE_ACCOUNTS,
    Resource,
)
from tests.backends.suite.bed import Bed
from tests.core.kit import Object, Onlooker, clique, condition, holds, is_ready, pcs

PERSON = "person"
POOL = "example.com/pool"
CPU = "20"
SECONDS = 90.0
"""For anything that must happen, however busy the machine is."""
BINDINGS = Resource(
    names.GROVE_GROUP,
    names.VERSION,
    "clustertopologybindings",
    "ClusterTopologyBinding",
    namespaced=False,
)


class Stage:
    """What a test acts with."""

    def __init__(self, bed: Bed, person: Onlooker) -> None:
        self.bed = bed
        self.contender = bed.contender
        self.person = person
        self.namespace = person.namespace
        self._nodes = 0

    async def add_nodes(self, count: int = 1, **labels: str) -> list[str]:
        """Nodes that only pods of this stage can use, and now can; their names."""
        made = []
        for _ in range(count):
            node = simulated_node(self._nodes)
            self._nodes += 1
            name = f"{self.namespace}-{self._nodes}"
            node["metadata"]["name"] = name
            own = {"kubernetes.io/hostname": name, POOL: self.namespace}
            node["metadata"]["labels"] |= {**own, **labels}
            taint = {"key": POOL, "value": self.namespace, "effect": "NoSchedule"}
            node["spec"] = {"taints": [taint]}
            await self._create(NODES, node)
            made.append(name)
        await until(
            self.bed.cluster.kubeconfig,
            NODES.path(),
            lambda found: len(found) == self._nodes and all(map(_is_usable, found)),
            seconds=SECONDS,
            labelSelector=f"{POOL}={self.namespace}",
        )
        return made

    async def priority_class(self, value: int) -> str:
        """A priority class of this stage."""
        name = f"{self.namespace}-{value}"
        await self._create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        return name

    def rank(self, value: int) -> dict[str, Any]:
        """What a set of such a priority says beside it."""
        return {"annotations": dict(self.contender.ranks.get(value, {}))}

    async def binding(self, **levels: str) -> str:
        """A topology of this stage, from broad to narrow; its name."""
        listed = [{"domain": domain, "key": key} for domain, key in levels.items()]
        manifest = {"metadata": {"name": self.namespace}, "spec": {"levels": listed}}
        await self._create(BINDINGS, manifest)
        return self.namespace

    async def domain(self, key: str, value: str) -> None:
        """A place for the nodes of this stage with such a label, where the scheduler needs one."""
        if (landscape := self.contender.landscape) is not None:
            made = landscape.domain(key, {key: value, POOL: self.namespace})
            name = {"name": f"{self.namespace}-{value}"}
            await self._create(landscape.resource, {"metadata": name, **made})

    async def _create(self, resource: Resource, manifest: Object) -> None:
        labels = {POOL: self.namespace, **manifest["metadata"].get("labels", {})}
        body = {
            **manifest,
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {**manifest["metadata"], "labels": labels},
        }
        client = self.person.client
        await client.create(resource, body, field_manager=PERSON, into=PartialObject)

    async def create(self, name: str, sizes: Mapping[str, int], **template: Any) -> None:
        """A set for the contender's backend, with cliques of these sizes."""
        cliques = [self.clique(role, size) for role, size in sizes.items()]
        await self.create_of(name, cliques, **template)

    async def create_of(self, name: str, cliques: list[Object], **template: Any) -> None:
        """A set of these cliques."""
        chosen = {names.ANNOTATION_SCHEDULER_BACKEND: self.contender.backend}
        annotations = {**chosen, **template.pop("annotations", {})}
        await self.person.create(pcs(name, *cliques, annotations=annotations, **template))

    def clique(self, role: str, size: int, *, cpu: str = CPU, **spec: Any) -> Object:
        """A clique whose pods fit the nodes of this stage only."""
        pod = {
            "nodeSelector": {POOL: self.namespace},
            "tolerations": [{"key": POOL, "operator": "Exists"}],
            **spec.pop("podSpec", {}),
        }
        return clique(role, size, cpu=cpu, podSpec=pod, **spec)

    async def delete(self, name: str) -> None:
        await self.person.delete(self.person.one(SETS, name), SETS)

    async def until_runs(self, name: str, *gangs: str) -> None:
        """Wait until a set, and its gangs (one, unless they are named), run whole."""
        await self.person.until(lambda: self.runs(name, *gangs), SECONDS)

    def runs(self, name: str, *gangs: str) -> bool:
        """Tell whether a set and its gangs say that they run, and their pods do."""
        wanted = gangs or (f"{name}-0",)
        pods = [pod for gang in wanted for pod in self.pods(gang)]
        return (
            holds(self.person.get(SETS, name), "Ready")
            and all(self._is_running(gang) for gang in wanted)
            and bool(pods)
            and all(map(is_ready, pods))
        )

    def _is_running(self, gang: str) -> bool:
        found = self.person.get(GANGS, gang)
        said = all(holds(found, kind) for kind in ("Accepted", "Programmed", "Scheduled", "Ready"))
        return found is not None and said and found.status.get("phase") == "Running"

    async def until_short(self, name: str, *, nodes: int, fits: int, of: int) -> None:
        """Wait until a set and its gang say that only some of its pods fit."""
        await self.person.until(lambda: self.is_short(name, nodes=nodes, fits=fits, of=of), SECONDS)

    def is_short(self, name: str, *, nodes: int, fits: int, of: int) -> bool:
        """Tell whether a set and its gang say so, with these numbers."""
        gang, contender = f"{name}-0", self.contender
        scheduled = self.said(gang, "Scheduled")
        text = contender.short.format(nodes=nodes, fits=fits, of=of)
        whole = condition(self.person.get(SETS, name), "Ready")
        in_set = f"gang {gang}: 0/{of} pods scheduled: needs "
        return (
            (scheduled.get("status"), scheduled.get("reason")) == ("False", "Unschedulable")
            and scheduled["message"].startswith(f"0/{of} pods scheduled: needs ")
            and text in scheduled["message"]
            and (whole.get("status"), whole.get("reason")) == ("False", "PodsNotScheduled")
            and in_set in whole["message"]
            and text in whole["message"]
        )

    async def until_unavailable(self, name: str) -> None:
        """Wait until a set and its gang say that their backend is away; they have ten seconds."""
        reason = names.REASON_BACKEND_UNAVAILABLE

        def is_said() -> bool:
            gang = self.said(f"{name}-0", names.CONDITION_BACKEND_SELECTED)
            whole = condition(self.person.get(SETS, name), "Ready")
            return gang.get("reason") == whole.get("reason") == reason

        await self.person.until(is_said, 10)

    def said(self, gang: str, kind: str) -> Object:
        """A condition of a gang; empty if it has none."""
        return condition(self.person.get(GANGS, gang), kind)

    def pods(self, gang: str) -> list[LooseObject]:
        """The pods of a gang that stay."""
        label = names.LABEL_PODGANG
        return [pod for pod in self.person.pods if pod.metadata.labels.get(label) == gang]

    def bound(self, gang: str) -> list[str]:
        """The nodes of a gang's pods, one for each pod that has one."""
        return [pod.spec["nodeName"] for pod in self.pods(gang) if pod.spec.get("nodeName")]

    async def record(self) -> LooseObject:
        """The record of the contender's backend."""
        return await self.person.client.get(BACKENDS, self.contender.backend, into=LooseObject)

    async def clean_up(self) -> None:
        """Remove what is not in the namespace, and the namespace."""
        client, ours = self.person.client, Selector(f"{POOL}={self.namespace}")
        landscape = self.contender.landscape
        more = () if landscape is None else (landscape.resource,)
        for resource in (NODES, PRIORITY_CLASSES, BINDINGS, *more, NAMESPACES):
            async for page in client.pages(resource, into=PartialObject, selector=ours):
                for item in page.items:
                    await client.delete(resource, item.metadata.name, uid=item.metadata.uid)


def _is_usable(node: Object) -> bool:
    """Tell whether nothing but the stage's own taint keeps pods from a node."""
    conditions = node.get("status", {}).get("conditions") or []
    is_up = any((entry["type"], entry["status"]) == ("Ready", "True") for entry in conditions)
    return is_up and [taint["key"] for taint in node["spec"]["taints"]] == [POOL]


@contextlib.asynccontextmanager
async def staged(bed: Bed) -> AsyncIterator[Stage]:
    """A stage, until the block ends."""
    namespace, kubeconfig = f"t-{uuid.uuid4().hex[:8]}", bed.cluster.kubeconfig
    async with Client(from_kubeconfig(kubeconfig)) as client:
        person = Onlooker(client, namespace)
        stage = Stage(bed, person)
        try:
            await stage._create(NAMESPACES, {"metadata": {"name": namespace}})
            # Pods are refused in a namespace without it.
            accounts = SERVICE_ACCOUNTS.path(namespace)
            await until(kubeconfig, accounts, bool, seconds=SECONDS)
            async with person.watching():
                yield stage
        finally:
            await stage.clean_up()
