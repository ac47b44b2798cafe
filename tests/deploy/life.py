"""A life in which core and backends do everything that they have rights for."""

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import yaml

from core_operator.state.caches import BINDINGS, CLIQUES, GANGS, GROUPS, SETS
from local_cluster.cluster import Cluster
from local_cluster.waiting import until
from shared_api import names
from shared_api.kube.client import Patch
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.resources import (
    CONTROLLER_REVISIONS,
    HPAS,
    PODS,
    RESOURCE_CLAIMS,
    Resource,
)
from tests.backends.generic.gangs import gang, said
from tests.core.kit import Object, Onlooker, clique, condition, holds, is_ready, pcs
from tests.deploy.customs import CUSTOMS
from tests.deploy.kit import NAMESPACE, PATIENCE

TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)

_BACKEND = names.ANNOTATION_SCHEDULER_BACKEND
_REVISIONS = 12
"""One more than are kept beside the current one."""


class Life:
    """One namespace in which everything happens, to the gangs of one backend."""

    def __init__(self, cluster: Cluster, person: Onlooker, backend: str) -> None:
        self.cluster = cluster
        self.person = person
        self.backend = backend
        self._customs = CUSTOMS[backend]
        self._binding = f"{person.namespace}-racks"

    async def run_grow_and_shrink(self) -> None:
        """Gangs, an autoscaler, and sizes that change."""
        group = {
            "name": "s",
            "cliqueNames": ["b"],
            "replicas": 2,
            "minAvailable": 1,
            "scaleConfig": {"maxReplicas": 3},
        }
        await self._create("k", clique("a", 2))
        cliques = (clique("a", 2), clique("b"))
        await self._create("w", *cliques, podCliqueScalingGroups=[group], replicas=2)
        await self._until(lambda: self._are_ready("w", 8) and self._are_ready("k", 2))
        await self._until(lambda: self.person.names(HPAS) == ["w-0-s", "w-1-s"])
        await self.person.scale(GROUPS, "w-0-s", 3)
        await self.person.scale(CLIQUES, "w-1-a", 3)
        await self._until(lambda: self._are_ready("w", 10))
        await self.person.scale(SETS, "w", 1)
        await self._until(lambda: self._are_ready("w", 5))
        await self.person.scale(SETS, "k", 2)
        await self._until(lambda: self._are_ready("k", 4))

    async def update_and_lose_pods(self) -> None:
        """As many templates as history has room for, and one more; then pods that are lost."""
        path = CONTROLLER_REVISIONS.path(self.person.namespace)
        for number in range(2, _REVISIONS + 1):
            change = clique("a", 2)
            change["spec"]["podSpec"]["containers"][0]["image"] = (
                f"registry.example.com/app:{number}"
            )
            await self.person.change(SETS, "k", {"spec": {"template": {"cliques": [change]}}})
            stored = partial(_is_stored, number=number, of="k")
            await until(self.cluster.kubeconfig, path, stored, seconds=PATIENCE)
        await until(
            self.cluster.kubeconfig,
            path,
            lambda found: not _is_stored(found, number=1, of="k"),
            seconds=PATIENCE,
        )
        await self._until(
            lambda: self._are_ready("k", 4) and _images(self._pods("k")) == {str(_REVISIONS)}
        )
        lost, *_ = self._pods("w")
        await self.person.change_status(PODS, lost.metadata.name, {"phase": "Failed"})
        await self._until(lambda: self._has_gone(lost) and self._are_ready("w", 5))

    async def place_by_topology(self) -> None:
        """A binding that is made, used and changed, with what KAI needs to know of it."""
        client = self.person.client
        manifest = {
            "apiVersion": BINDINGS.api_version,
            "kind": BINDINGS.kind,
            "metadata": {"name": self._binding},
            "spec": _levels("local-cluster/block", "local-cluster/rack"),
        }
        await client.create(BINDINGS, manifest, field_manager="person", into=PartialObject)
        await self._until_any(TOPOLOGIES, self._is_of_binding)
        constraint = {"topologyName": self._binding, "pack": {"required": "level-1"}}
        await self._create("t", clique("a", 2), topologyConstraint=constraint)
        await self._until(lambda: self._are_ready("t", 2))
        await self.tamper(TOPOLOGIES, self._is_of_binding)
        await client.patch(
            BINDINGS,
            self._binding,
            patch=Patch({"spec": _levels("topology.kubernetes.io/zone", "local-cluster/rack")}),
            field_manager="person",
        )
        await self._until_any(
            TOPOLOGIES,
            lambda item: self._is_of_binding(item) and "topology.kubernetes.io/zone" in str(item),
        )

    async def share_devices(self) -> None:
        """Replicas with a claim each, one of which goes. No node has the device, nor need it."""
        request = {"name": "one", "exactly": {"deviceClassName": "devices.example.com"}}
        nic = {"name": "nic", "templateSpec": {"spec": {"devices": {"requests": [request]}}}}
        shared = {"name": "nic", "scope": "PerReplica"}
        sharing = {"resourceClaimTemplates": [nic], "resourceSharing": [shared]}
        await self._create("d", clique("a"), replicas=2, **sharing)
        await self._until_any(RESOURCE_CLAIMS, partial(_is_named, name="d-1-nic"))
        await self.person.scale(SETS, "d", 1)
        await self._until_none(RESOURCE_CLAIMS, partial(_is_named, name="d-1-nic"))

    async def change_hands(self) -> None:
        """A gang that core knows nothing of is given to somebody else."""
        await self.person.create(gang("h", self.backend, annotations=self._customs.labels))
        if self._customs.awaits_members:
            await self._fill_by_hand("h")
        await self._until(lambda: said(self.person, "h", "Programmed")[0] == "True")
        label = {names.LABEL_SCHEDULER_BACKEND: "somebody-else"}
        await self.person.change(GANGS, "h", {"metadata": {"labels": label}})
        for kind in self._customs.written:
            await self._until_none(kind, partial(_is_owned_by, name="h"))

    async def _fill_by_hand(self, name: str) -> None:
        """Give a gang the two pods of its group, as its backend wants them."""
        await self._until(lambda: self._preparations(name))
        ((group, prepared),) = self._preparations(name).items()
        labels = {names.LABEL_PODGANG: name, names.LABEL_SCHEDULER_BACKEND: self.backend}
        pods = [f"{group}-{index}" for index in range(2)]
        for pod in pods:
            await self.person.create(_pod(pod, {**labels, **prepared["labels"]}, prepared["spec"]))
        references = [{"namespace": self.person.namespace, "name": pod} for pod in pods]
        whole = {"name": group, "minReplicas": len(pods), "podReferences": references}
        await self.person.change(GANGS, name, {"spec": {"podgroups": [whole]}})

    def _preparations(self, name: str) -> dict[str, Object]:
        found = self.person.get(GANGS, name)
        stated = found.status.get("podPreparations", []) if found is not None else []
        return {entry["name"]: entry["members"] for entry in stated}

    async def be_tampered_with(self) -> None:
        """Somebody takes the labels off objects that are ours."""
        for kind in self._customs.written:
            await self.tamper(kind, partial(_is_owned_by, name="w-0"))

    async def tamper(self, kind: Resource, which: Callable[[Object], bool]) -> None:
        """Take all labels off an object, and see them come back."""
        found = await self._until_any(kind, which)
        metadata = found["metadata"]
        stripped = Patch({"metadata": {"labels": dict.fromkeys(metadata["labels"])}})
        place = metadata.get("namespace")
        client = self.person.client
        await client.patch(kind, metadata["name"], place, patch=stripped, field_manager="person")
        name, labels = metadata["name"], metadata["labels"].keys()
        await self._until_any(
            kind,
            lambda item: (
                item["metadata"]["name"] == name
                and labels <= item["metadata"].get("labels", {}).keys()
            ),
        )

    async def switch_the_backend_off_and_on(self) -> None:
        """What is new waits for its backend, which comes back with more switched on."""
        await self._scale_deployment(f"backend-{self.backend}", 0)
        if self._customs.options:
            await self._set_options(self._customs.options)
        await self._create("late", clique("a", 2))
        await self._until(
            lambda: (
                condition(self.person.get(GANGS, "late-0"), "BackendSelected").get("reason")
                == names.REASON_BACKEND_UNAVAILABLE
            )
        )
        await self._scale_deployment(f"backend-{self.backend}", 2)
        await self._until(lambda: self._are_ready("late", 2))

    async def go_away(self) -> None:
        """Everything is deleted by its user."""
        for item in self.person.all(SETS):
            await self.person.delete(item, SETS)
        for item in self.person.all(GANGS):
            if item.metadata.name == "h":
                await self.person.delete(item, GANGS)
        for pod in self.person.pods:
            if pod.metadata.labels.get(names.LABEL_PODGANG) == "h":
                await self.person.delete(pod, PODS)
        await self._until(lambda: not self.person.pods and not self.person.names(GANGS))

    async def forget_the_topology(self) -> None:
        """The binding is deleted, and what KAI knew of it goes."""
        client = self.person.client
        found = await client.get(BINDINGS, self._binding, into=PartialObject)
        await client.delete(BINDINGS, self._binding, uid=found.metadata.uid)
        await self._until_none(TOPOLOGIES, self._is_of_binding)

    async def _create(self, name: str, *cliques: Object, **template: Any) -> None:
        made = pcs(name, *cliques, annotations={_BACKEND: self.backend}, **template)
        made["metadata"]["labels"] = dict(self._customs.labels)
        await self.person.create(made)

    def _pods(self, of: str) -> list[LooseObject]:
        label = names.LABEL_PART_OF
        return [pod for pod in self.person.pods if pod.metadata.labels.get(label) == of]

    def _are_ready(self, of: str, count: int) -> bool:
        pods = self._pods(of)
        is_set_ready = holds(self.person.get(SETS, of), "Ready")
        return len(pods) == count and all(map(is_ready, pods)) and is_set_ready

    def _has_gone(self, lost: LooseObject) -> bool:
        return lost.metadata.uid not in {pod.metadata.uid for pod in self.person.pods}

    def _is_of_binding(self, item: Object) -> bool:
        return _owner(item) == self._binding

    async def _until(self, met: Callable[[], object]) -> None:
        await self.person.until(met, PATIENCE)

    async def _until_any(self, kind: Resource, which: Callable[[Object], bool]) -> Object:
        found = await until(
            self.cluster.kubeconfig,
            kind.path(self.person.namespace if kind.namespaced else None),
            lambda items: any(map(which, items)),
            seconds=PATIENCE,
        )
        return next(filter(which, found))

    async def _until_none(self, kind: Resource, which: Callable[[Object], bool]) -> None:
        await until(
            self.cluster.kubeconfig,
            kind.path(self.person.namespace if kind.namespaced else None),
            lambda items: not any(map(which, items)),
            seconds=PATIENCE,
        )

    async def _set_options(self, options: Mapping[str, object]) -> None:
        """Change the settings of a backend that does not run."""
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        found = await until(self.cluster.kubeconfig, path, bool, seconds=PATIENCE)
        prefix = f"backend-settings-{self.backend}-"
        (stored,) = (item for item in found if item["metadata"]["name"].startswith(prefix))
        settings = yaml.safe_load(stored["data"]["settings.yaml"])
        settings["options"] = {**settings.get("options", {}), **options}
        change = json.dumps({"data": {"settings.yaml": json.dumps(settings)}})
        name = f"configmap/{stored['metadata']['name']}"
        words = ("patch", name, f"-n{NAMESPACE}", "--type=merge", f"--patch={change}")
        await asyncio.to_thread(self.cluster.kubectl, *words)

    async def _scale_deployment(self, name: str, replicas: int) -> None:
        words = ("scale", f"deployment/{name}", f"-n{NAMESPACE}", f"--replicas={replicas}")
        await asyncio.to_thread(self.cluster.kubectl, *words)


def _pod(name: str, labels: Object, spec: Object) -> Object:
    container = {"name": "main", "image": "registry.example.com/app:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container], **spec},
    }


def _levels(*keys: str) -> Object:
    return {"levels": [{"domain": f"level-{n}", "key": key} for n, key in enumerate(keys)]}


def _is_named(item: Object, *, name: str) -> bool:
    return bool(item["metadata"]["name"] == name)


def _is_owned_by(item: Object, *, name: str) -> bool:
    return _owner(item) == name


def _owner(item: Object) -> str:
    owners: list[dict[str, Any]] = item["metadata"].get("ownerReferences", [])
    return str(owners[0]["name"]) if owners else ""


def _is_stored(found: list[Object], *, number: int, of: str) -> bool:
    return number in {item["revision"] for item in found if _owner(item) == of}


def _images(pods: list[LooseObject]) -> set[str]:
    return {str(pod.spec["containers"][0]["image"]).rsplit(":", 1)[1] for pod in pods}
