"""A namespace with nodes of its own, in which a situation is acted out, and what kubectl prints."""

import asyncio
import json
import re
from typing import Any

from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from local_cluster.simulation.nodes import simulated_node
from shared_api import names
from tests.core.kit import Object, Onlooker, clique, condition, pcs

POOL = "example.com/pool"
CPU = "20"
QUEUE = {"kai.scheduler/queue": "team"}
KAI = {names.ANNOTATION_SCHEDULER_BACKEND: "kai", **QUEUE}
_SHOWN = re.compile(r"^Status:.*?(?=^Events:)", re.MULTILINE | re.DOTALL)
# What differs from run to run, and what kwok's other nodes add.
_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"(Hash:\s+)\S+"), r"\1HASH"),
    (re.compile(r"\b(w-0-[a-z]+)-[a-z0-9]{5}\b"), r"\1-POD"),
    (re.compile(r"(?<=\s)(?:\d+[dhms])+(?=\s|$)", re.MULTILINE), "AGE"),
    (re.compile(r"\b0/\d+ nodes"), "0/N nodes"),
    (re.compile(r"\b\d+ node\(s\)"), "N node(s)"),
    (re.compile(r" {2,}"), "  "),
    (re.compile(r" +$", re.MULTILINE), ""),
)


class Theatre:
    """What a situation acts with."""

    def __init__(self, cluster: Cluster, person: Onlooker) -> None:
        self.cluster = cluster
        self.person = person
        self.namespace = person.namespace
        self._nodes: list[str] = []
        self._others: list[tuple[str, ...]] = []
        self._also: list[tuple[str, ...]] = []

    async def kubectl(self, *command: str, check: bool = True) -> str:
        run = self.cluster.kubectl
        return (await asyncio.to_thread(run, *command, check=check)).stdout

    async def apply(self, manifest: Object, *, kept: bool = False) -> None:
        """Apply any object; a cluster-scoped one is deleted at the end."""
        body = json.dumps(manifest)
        run = self.cluster.kubectl
        await asyncio.to_thread(run, "apply", "--server-side", "-f", "-", input=body)
        if not kept and "namespace" not in manifest["metadata"]:
            kind = f"{manifest['kind'].lower()}/{manifest['metadata']['name']}"
            self._others.append(("delete", kind, "--ignore-not-found"))

    async def add_nodes(self, count: int, **labels: str) -> None:
        """Add nodes with 32 cores that only pods of this namespace can use."""
        for _ in range(count):
            node = simulated_node(len(self._nodes))
            name = f"{self.namespace}-{len(self._nodes)}"
            node["metadata"]["name"] = name
            own = {"kubernetes.io/hostname": name, POOL: self.namespace}
            node["metadata"]["labels"] |= {**own, **labels}
            taint = {"key": POOL, "value": self.namespace, "effect": "NoSchedule"}
            node["spec"] = {"taints": [taint]}
            self._nodes.append(name)
            await self.apply({"apiVersion": "v1", "kind": "Node", **node}, kept=True)
        for name in self._nodes:
            await self.kubectl("wait", "--for=condition=Ready", f"node/{name}", "--timeout=30s")

    def clique(self, role: str, size: int, *, cpu: str = CPU, **spec: Any) -> Object:
        """A clique whose pods fit the nodes of this namespace only."""
        pod = {
            "nodeSelector": {POOL: self.namespace},
            "tolerations": [{"key": POOL, "operator": "Exists"}],
            **spec.pop("podSpec", {}),
        }
        return clique(role, size, cpu=cpu, podSpec=pod, **spec)

    async def create(self, *cliques: Object, **template: Any) -> None:
        """Create the set of the situation, which is called `w`."""
        await self.person.create(pcs("w", *cliques, **template))

    async def binding(self, **levels: str) -> None:
        """Bind levels to node labels, from broad to narrow."""
        listed = [{"domain": domain, "key": key} for domain, key in levels.items()]
        await self.apply(
            {
                "apiVersion": "grove.io/v1alpha1",
                "kind": "ClusterTopologyBinding",
                "metadata": {"name": self.namespace},
                "spec": {"levels": listed},
            }
        )

    def packed(self, domain: str) -> Object:
        """The constraint that all pods of a replica share a domain of this level."""
        return {
            "topologyConstraint": {"topologyName": self.namespace, "pack": {"required": domain}}
        }

    def also_show(self, *command: str) -> None:
        """Show what another kubectl command prints, beside the set and its gang."""
        self._also.append(command)

    async def until_ungated(self, pods: int) -> None:
        """Wait until so many pods exist without a gate."""
        await self.person.until(
            lambda: sum(not pod.spec.get("schedulingGates") for pod in self.person.pods) == pods, 60
        )

    async def until_reported(self, reason: str) -> None:
        """Wait until the set has this reason."""
        await self.person.until(
            lambda: condition(self.person.get(SETS, "w"), "Ready").get("reason") == reason, 60
        )

    async def until_refused(self, manifest: Object) -> None:
        """Wait until admission refuses an object: a new policy is enforced a little later."""
        body = json.dumps(manifest)
        command = ("create", "--dry-run=server", "-f", "-")
        async with asyncio.timeout(60):
            while True:
                run = self.cluster.kubectl
                done = await asyncio.to_thread(run, *command, check=False, input=body)
                if done.returncode:
                    return
                await asyncio.sleep(0.2)

    async def patch_pods(self, status: Object) -> None:
        """Report a status of all pods, as a kubelet would."""
        for pod in self.person.pods:
            patch = (
                "--subresource=status",
                "--type=merge",
                "--patch",
                json.dumps({"status": status}),
            )
            await self.kubectl("-n", self.namespace, "patch", "pod", pod.metadata.name, *patch)

    async def shown(self) -> str:
        """What kubectl prints about the set, its gang and what the act adds, without what varies."""
        scope = f"--namespace={self.namespace}"
        parts = []
        for command in (
            ("get", "pcs", "-o", "wide"),
            ("get", "podgangs", "-o", "wide"),
            ("describe", "pcs", "w"),
            *self._also,
        ):
            printed = await self.kubectl(*command, scope, check=False)
            if command[0] == "describe":
                found = _SHOWN.search(printed)
                printed = found[0] if found else printed
            parts.append(f"$ kubectl {' '.join(command)}\n{printed.strip()}\n")
        text = "\n".join(parts).replace(self.namespace, "NAMESPACE")
        for pattern, replacement in _VARIES:
            text = pattern.sub(replacement, text)
        return text

    async def clean_up(self) -> None:
        for command in self._others:
            await self.kubectl(*command, check=False)
        if self._nodes:
            await self.kubectl("delete", "node", *self._nodes, "--ignore-not-found", check=False)
