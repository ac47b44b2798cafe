"""Each backend may do what its declaration needs, and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend_controllers import registry
from backend_controllers.contract.declaration import Dialect, Served
from backend_controllers.generic.kinds import GANGS
from shared_api.kube.resources import Resource

DEPLOY = Path(__file__).parents[3] / "deploy" / "backends"
WRITING = {"create", "patch", "delete"}
Rule = dict[str, Any]


class Everything(dict[str, Any]):
    """A schema in which every field is found."""

    def get(self, key: str, default: Any = None) -> Any:
        return self

    def __contains__(self, key: object) -> bool:
        return False


class EveryKind(frozenset[tuple[str, str, str]]):
    def __contains__(self, key: object) -> bool:
        return True


class EverySchema(dict[tuple[str, str, str], Any]):
    def get(self, key: tuple[str, str, str], default: Any = None) -> Any:
        return Everything()


def dialect(name: str) -> Dialect:
    """What a backend speaks in a cluster that serves everything."""
    backend = registry.find(name)
    served = Served(EveryKind(), EverySchema(), services=frozenset(backend.questions.services))
    found = backend.detect(served, backend.options())
    assert isinstance(found, Dialect)
    return found


def rules(name: str) -> list[Rule]:
    files = (DEPLOY / "base" / "rbac.yaml", DEPLOY / name / "rbac.yaml")
    manifests = [manifest for file in files for manifest in yaml.safe_load_all(file.read_text())]
    return [
        rule
        for manifest in manifests
        if manifest["kind"] in ("ClusterRole", "Role")
        for rule in manifest["rules"]
    ]


def allowed(found: list[Rule], resource: Resource) -> set[str]:
    return {
        verb
        for rule in found
        if resource.group in rule["apiGroups"] and resource.plural in rule["resources"]
        for verb in rule["verbs"]
    }


def written(spoken: Dialect) -> Iterator[Resource]:
    yield from (writes.resource for writes in spoken.writes)
    yield from (companion.writes.resource for companion in spoken.companions)


def read(spoken: Dialect) -> Iterator[Resource]:
    yield from (reads.resource for reads in spoken.reads)
    yield from (companion.source.resource for companion in spoken.companions)


@pytest.mark.parametrize("name", sorted(registry.MODULES))
def test_what_is_declared_is_allowed(name: str) -> None:
    found, spoken = rules(name), dialect(name)
    for resource in written(spoken):
        assert allowed(found, resource) >= WRITING | {"get", "list", "watch"}, resource
    for resource in read(spoken):
        assert allowed(found, resource) >= {"list", "watch"}, resource
    for companion in spoken.companions:
        source = companion.source.resource
        status = replace(source, plural=f"{source.plural}/status")
        assert allowed(found, status) == ({"patch"} if companion.report else set())
    # Objects have an owner; who writes none need not look it up, nor may block its deletion.
    owning = {"get"} if spoken.writes else set()
    assert allowed(found, GANGS) == {"list", "watch"} | owning
    finalizers = Resource(GANGS.group, GANGS.version, "podgangs/finalizers", GANGS.kind)
    assert allowed(found, finalizers) == ({"update"} if spoken.writes else set())
    asked = registry.find(name).questions
    listed = {
        named
        for rule in found
        if "customresourcedefinitions" in rule["resources"]
        for named in rule["resourceNames"]
    }
    assert listed == set(asked.definitions)
    services = Resource("apiregistration.k8s.io", "v1", "apiservices", "APIService")
    assert bool(allowed(found, services)) == bool(asked.groups)
    sought = [rule["resourceNames"] for rule in found if rule["resources"] == ["services"]]
    assert sought == ([list(asked.services)] if asked.services else [])


@pytest.mark.parametrize("name", sorted(registry.MODULES))
def test_nothing_is_allowed_that_is_not_needed(name: str) -> None:
    found, spoken = rules(name), dialect(name)
    words = {word for rule in found for word in (*rule["resources"], *rule["verbs"])}
    assert not words & {"*", "secrets", "deletecollection", "escalate", "impersonate"}
    of_core = {
        rule for each in found if "grove.io" in each["apiGroups"] for rule in each["resources"]
    }
    named = (*read(spoken), *written(spoken))
    declared = {resource.plural for resource in named if resource.group == "grove.io"}
    # What every backend reads and writes: messages have the numbers of PodCliques and Nodes.
    every = {"schedulerbackends", "backendinventories", "podcliques"}
    assert {part for part in of_core if "/" not in part} == declared | every
    ours = {resource.group for resource in written(spoken)}
    for rule in found:
        verbs, groups = set(rule["verbs"]), set(rule["apiGroups"])
        if "pods" in rule["resources"]:
            # A far side deletes pods of its own node, as a kubelet does; a policy selects them.
            assert verbs in ({"list", "watch"}, {"delete"} if name in registry.FAR_SIDES else set())
        else:
            assert "delete" not in verbs or groups <= ours, "only its own scheduler's objects go"
        if "update" in verbs:
            assert all(part.endswith("/finalizers") for part in rule["resources"])
    for rule in found:
        if "schedulerbackends" in rule["resources"] and "patch" in rule["verbs"]:
            assert rule["resourceNames"] == [name], "a backend writes its own record alone"
        if "leases" in rule["resources"] and "patch" in rule["verbs"]:
            # The second is the heartbeat of a virtual node.
            node = [name] if name in registry.FAR_SIDES else None
            assert rule["resourceNames"] in ([f"backend-{name}"], node)
