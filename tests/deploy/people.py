"""People with too many rights in one namespace, and what the API server says to them.

Roles that are too wide are the point: what is refused here is refused by a policy, not by RBAC.
"""

import json
import subprocess
from typing import Any

from local_cluster.cluster import Cluster
from shared_api import names

Object = dict[str, Any]

MANAGED = {names.LABEL_MANAGED_BY: names.MANAGED_BY, names.LABEL_PART_OF: "w"}
_ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "everything"},
    "rules": [
        {"apiGroups": ["grove.io", "scheduler.grove.io"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods", "pods/eviction"], "verbs": ["*"]},
    ],
}


class Person:
    """Somebody who works in one namespace with kubectl."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        name: str | None = None,
        groups: tuple[str, ...] = (),
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._name = name
        self._groups = groups

    def empowered(self) -> "Person":
        """Give the person a role with everything in it."""
        administrator = Person(self._cluster, self._namespace)
        administrator.do("apply", "-f", "-", input=_ROLE)
        administrator.do(
            "create",
            "rolebinding",
            f"all-{self._name}",
            "--role=everything",
            f"--user={self._name}",
        )
        return self

    def do(self, *words: str, input: Object | None = None) -> str:
        """Do something that must succeed; what kubectl prints."""
        done = self._kubectl(*words, input=input)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refusal(self, *words: str, input: Object | None = None) -> str:
        """What a policy says to a request; empty if it is carried out."""
        done = self._kubectl(*words, input=input)
        if done.returncode == 0:
            return ""
        _, denied, message = done.stderr.partition(" denied request: ")
        assert denied, f"not by a policy: {done.stderr}"
        return message.strip()

    def invalid(self, *words: str, input: Object | None = None) -> str:
        """Return what the schema of a kind answers; empty if the request is carried out."""
        done = self._kubectl(*words, input=input)
        assert done.returncode == 0 or " is invalid: " in done.stderr, done.stderr
        return done.stderr if done.returncode else ""

    def until_refused(self, *words: str, input: Object | None = None) -> None:
        """Try in earnest nothing, until a policy is in force: nobody announces that."""
        for _ in range(200):
            if self.refusal(*words, "--dry-run=server", input=input):
                return
        raise AssertionError(f"never refused: {words}")

    def _kubectl(self, *words: str, input: Object | None) -> subprocess.CompletedProcess[str]:
        as_whom = [] if self._name is None else [f"--as={self._name}"]
        as_whom += [f"--as-group={group}" for group in self._groups]
        text = None if input is None else json.dumps(input)
        place = f"--namespace={self._namespace}"
        return self._cluster.kubectl(*words, place, *as_whom, input=text, check=False)


def _made(api: str, kind: str, name: str, spec: Object, **metadata: Any) -> Object:
    labels = {**MANAGED, **metadata.pop("labels", {})}
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "labels": labels, **metadata},
        "spec": spec,
    }


def podclique(name: str, **metadata: Any) -> Object:
    """A PodClique as core makes it, as far as the policies look."""
    spec = {"roleName": "a", "replicas": 1, "podSpec": {"containers": [_container("main")]}}
    return _made("grove.io/v1alpha1", "PodClique", name, spec, **metadata)


def scaling_group(name: str) -> Object:
    spec = {"replicas": 1, "cliqueNames": ["a"]}
    return _made("grove.io/v1alpha1", "PodCliqueScalingGroup", name, spec)


def podgang(name: str, backend: str = "default", **metadata: Any) -> Object:
    labels = {names.LABEL_SCHEDULER_BACKEND: backend, **metadata.pop("labels", {})}
    spec = {"podgroups": [{"name": f"{name}-a", "podReferences": [], "minReplicas": 1}]}
    return _made("scheduler.grove.io/v1alpha1", "PodGang", name, spec, labels=labels, **metadata)


def pod(name: str, *gates: str, **metadata: Any) -> Object:
    spec = {
        "containers": [_container("main")],
        "schedulingGates": [{"name": gate} for gate in gates],
        "terminationGracePeriodSeconds": 0,
    }
    labels = {names.LABEL_PODGANG: "w-0"}
    annotations = {names.ANNOTATION_STARTUP_ORDER: "after w-0-b"}
    return _made("v1", "Pod", name, spec, labels=labels, annotations=annotations, **metadata)


def _container(name: str) -> Object:
    return {
        "name": name,
        "image": "registry.example.com/app:1",
        "resources": {"requests": {"cpu": "1m"}},
    }
