"""A namespace with nodes of its own, on which gangs made by hand or by core are played."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from backend_controllers.contract.declaration import Absent, Backend, Dialect, Options, Served
from backend_controllers.default import BACKEND
from backend_controllers.default.options import DefaultOptions
from backend_controllers.default.served import COMPOSITE_POD_GROUPS
from backend_controllers.generic.kinds import BACKENDS, GANGS
from local_cluster.cluster import Cluster
from local_cluster.simulation.nodes import simulated_node
from shared_api import names
from shared_api.kube.client import Patch, Selector
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import NODES, PODS, PRIORITY_CLASSES, Resource
from tests.backends.default.kit import patch_of
from tests.core.kit import Object, Onlooker, condition

PERSON = "person"
POOL = "example.com/pool"
CPU = "20"
"""A node of the stage has room for one pod that asks for so much."""


@dataclass(frozen=True)
class Form:
    """One form of the API, and the Kubernetes that serves it."""

    minor: str
    kinds: tuple[str, ...]
    version: str
    capabilities: frozenset[str]
    """What the record must say that was found."""
    composite: bool = True
    immutable: bool = False
    """Whether the count of a gang cannot be changed."""

    @property
    def backend(self) -> Backend:
        """The backend, blind to what this form does without."""
        return BACKEND if self.composite else replace(BACKEND, detect=_without_composites)

    def resource(self, plural: str) -> Resource:
        """A kind of this form."""
        kinds = {"workloads": "Workload", "podgroups": "PodGroup"}
        return Resource("scheduling.k8s.io", self.version, plural, kinds[plural])


def _without_composites(served: Served, options: Options) -> Dialect | Absent:
    kind = COMPOSITE_POD_GROUPS
    rest = served.resources - {(kind.group, kind.version, kind.plural)}
    return BACKEND.detect(replace(served, resources=rest), options)


class Stage:
    """What a test of one form acts with."""

    def __init__(self, cluster: Cluster, form: Form, person: Onlooker) -> None:
        self.cluster = cluster
        self.form = form
        self.person = person
        self.namespace = person.namespace
        self.pool = f"pool-{person.namespace}"
        self._nodes = 0

    async def clean_up(self) -> None:
        """Remove what is not in the namespace."""
        client = self.person.client
        ours = Selector(f"{POOL}={self.pool}")
        only = Selector(fields="metadata.name=default")
        for resource, selector in ((NODES, ours), (PRIORITY_CLASSES, ours), (BACKENDS, only)):
            async for page in client.pages(resource, into=PartialObject, selector=selector):
                for item in page.items:
                    name, uid = item.metadata.name, item.metadata.uid
                    await client.delete(resource, name, uid=uid)

    async def add_node(self, **labels: str) -> None:
        """A node that only pods of this stage can use."""
        node = simulated_node(self._nodes)
        self._nodes += 1
        node["metadata"]["name"] = name = f"{self.pool}-{self._nodes}"
        node["metadata"]["labels"] |= {"kubernetes.io/hostname": name, POOL: self.pool, **labels}
        node["spec"] = {"taints": [{"key": POOL, "value": self.pool, "effect": "NoSchedule"}]}
        await self.person.client.create(NODES, node, field_manager=PERSON, into=PartialObject)

    async def priority_class(self, value: int) -> str:
        """A priority class of this stage."""
        name = f"{self.pool}-{value}"
        manifest = {
            "apiVersion": PRIORITY_CLASSES.api_version,
            "kind": PRIORITY_CLASSES.kind,
            "metadata": {"name": name, "labels": {POOL: self.pool}},
            "value": value,
        }
        await self.person.client.create(
            PRIORITY_CLASSES, manifest, field_manager=PERSON, into=PartialObject
        )
        return name

    @property
    def pod_spec(self) -> Object:
        """What makes a pod fit the nodes of this stage, one each."""
        return {
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {POOL: self.pool},
            "tolerations": [{"key": POOL, "operator": "Exists"}],
        }

    def speaks(self) -> Dialect:
        """The dialect of the form, with every gated field."""
        kinds = frozenset(("scheduling.k8s.io", *kind.split("/", 1)) for kind in self.form.kinds)
        resources = frozenset((group, version, plural) for group, version, plural in kinds)
        kept = frozenset({"TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption"})
        found = self.form.backend.detect(Served(resources, kept=kept), DefaultOptions())
        assert isinstance(found, Dialect)
        return found

    async def gang(self, name: str, groups: dict[str, int], **spec: Any) -> ObservedPodGang:
        """A gang made by hand, that refers to its pods already."""
        manifest = {
            "apiVersion": ObservedPodGang.API_VERSION,
            "kind": ObservedPodGang.KIND,
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {names.LABEL_SCHEDULER_BACKEND: "default"},
            },
            "spec": {
                "podgroups": self.groups(groups, spec.pop("keys", {}), spec.pop("remade", ())),
                **spec,
            },
        }
        return await self.person.client.create(
            GANGS, manifest, field_manager=PERSON, into=ObservedPodGang
        )

    def groups(
        self,
        minimums: dict[str, int],
        keys: dict[str, str] | None = None,
        remade: Collection[str] = (),
    ) -> list[Object]:
        """Groups of as many pods as they need.

        Pods of groups that are `remade` have names of their own, as those that core makes: kwok
        deletes by name, and what it still has to delete would be the pod of the same name.
        """
        constraint = {
            group: {"topologyConstraint": {"packConstraint": {"required": key}}}
            for group, key in (keys or {}).items()
        }
        return [
            {
                "name": group,
                "minReplicas": minimum,
                "podReferences": [
                    {
                        "namespace": self.namespace,
                        "name": f"{group}-{index}{'-anew' if group in remade else ''}",
                    }
                    for index in range(minimum)
                ],
                **constraint.get(group, {}),
            }
            for group, minimum in minimums.items()
        ]

    async def run_pods(self, gang: ObservedPodGang) -> None:
        """The gang's pods as core makes them, released."""
        speaks = self.speaks()
        for group in gang.spec.podgroups:
            for index, reference in enumerate(group.pod_references):
                patch = patch_of(speaks, gang, group.name, index)
                labels = {
                    names.LABEL_SCHEDULER_BACKEND: "default",
                    names.LABEL_PODGANG: gang.metadata.name,
                    names.LABEL_PODCLIQUE: group.name,
                    names.LABEL_POD_INDEX: str(index),
                }
                container = {
                    "name": "main",
                    "image": "example.com/none",
                    "resources": {"requests": {"cpu": CPU}},
                }
                spec = {**self.pod_spec, "containers": [container], **patch.get("spec", {})}
                annotations = patch.get("annotations", {})
                metadata = {"name": reference.name, "labels": labels, "annotations": annotations}
                await self.person.create(
                    {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
                )

    async def regroup(self, gang: str, groups: list[Object]) -> int:
        """Give a gang other groups; the generation that it has then."""
        patched = await self.person.client.patch(
            GANGS,
            gang,
            self.namespace,
            patch=Patch({"spec": {"podgroups": groups}}),
            field_manager=PERSON,
        )
        return patched.metadata.generation

    async def remove_pod(self, name: str) -> None:
        await self.person.delete(self.person.one(PODS, name), PODS)

    def bound(self) -> dict[str, str]:
        """The node of each pod that has one."""
        return {
            pod.metadata.name: pod.spec["nodeName"]
            for pod in self.person.pods
            if pod.spec.get("nodeName")
        }

    async def record(self) -> LooseObject:
        """The backend's record."""
        return await self.person.client.get(BACKENDS, "default", into=LooseObject)

    def said(self, gang: str, kind: str) -> Object:
        """A condition of a gang."""
        return condition(self.person.get(GANGS, gang), kind)

    async def written(self, plural: str) -> list[LooseObject]:
        """The objects of a kind in this namespace, by name."""
        found: list[LooseObject] = []
        pages = self.person.client.pages(
            self.form.resource(plural), self.namespace, into=LooseObject
        )
        async for page in pages:
            found += page.items
        return sorted(found, key=lambda item: item.metadata.name)
