"""Pod specs that the API server refuses with the path of the wrong value, and those that it keeps."""

from typing import Any

import pytest

from tests.contract.conftest import UNCHECKED, Contract
from tests.contract.manifests import changed, clique, pod_clique_set
from tests.contract.schemas import all_nodes

SPEC = "spec.template.cliques.0.spec.podSpec"
SHOWN = "spec.template.cliques[0].spec.podSpec"
MAIN = "containers.0"
CPU = "containers[0].resources.requests.cpu"
QUANTITY = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"


def _type(path: str, wanted: str, found: str) -> str:
    at = f"{SHOWN}.{path}"
    return f'\n* {at}: Invalid value: "{found}": {at} in body must be of type {wanted}: "{found}"{UNCHECKED}'


WRONG: dict[str, tuple[str, Any, str]] = {
    "a node selector that is no text": (
        "nodeSelector",
        {"gpu": True},
        _type("nodeSelector.gpu", "string", "boolean"),
    ),
    "a toleration for a number as text": (
        "tolerations",
        [{"tolerationSeconds": "5"}],
        _type("tolerations[0].tolerationSeconds", "integer", "string"),
    ),
    "a toleration of a number": (
        "tolerations",
        [{"value": 5}],
        _type("tolerations[0].value", "string", "integer"),
    ),
    "an affinity that is a list": ("affinity", [], _type("affinity", "object", "array")),
    "a variable whose value is a number": (
        f"{MAIN}.env",
        [{"name": "A", "value": 1}],
        _type("containers[0].env[0].value", "string", "integer"),
    ),
    "a port as text": (
        f"{MAIN}.ports",
        [{"containerPort": "80"}],
        _type("containers[0].ports[0].containerPort", "integer", "string"),
    ),
    "a command that is no list": (
        f"{MAIN}.command",
        "sh",
        _type("containers[0].command", "array", "string"),
    ),
    "an argument that is a number": (
        f"{MAIN}.args",
        ["--port", 80],
        _type("containers[0].args[1]", "string", "integer"),
    ),
    "a priority class that is a list": (
        "priorityClassName",
        ["high"],
        _type("priorityClassName", "string", "array"),
    ),
    "a scheduling gate without a name": (
        "schedulingGates",
        [{}],
        f"\n* {SHOWN}.schedulingGates[0].name: Required value{UNCHECKED}",
    ),
    "a quantity that is none": (
        f"{MAIN}.resources",
        {"requests": {"cpu": "much"}},
        f"{SHOWN}.{CPU}: Invalid value: \"much\": {SHOWN}.{CPU} in body should match '{QUANTITY}'",
    ),
    "a quantity that is a truth": (
        f"{MAIN}.resources",
        {"requests": {"cpu": True}},
        f'<nil>: Invalid value: "": "{SHOWN}.{CPU}" must not validate the schema (not)',
    ),
    "a quantity that is a map": (
        f"{MAIN}.resources",
        {"requests": {"cpu": {"a": 1}}},
        f"\n* {SHOWN}.{CPU}: Too many: 1: must have at most 0 items{UNCHECKED}",
    ),
    "a quantity of very many digits": (
        f"{MAIN}.resources",
        {"requests": {"cpu": "9" * 65}},
        f"\n* {SHOWN}.{CPU}: Too long: may not be more than 64 bytes{UNCHECKED}",
    ),
}


@pytest.mark.cluster
@pytest.mark.parametrize(("path", "value", "message"), WRONG.values(), ids=WRONG.keys())
def test_refuses_a_pod_spec_with(contract: Contract, path: str, value: Any, message: str) -> None:
    manifest = changed(pod_clique_set(clique("a")), {f"{SPEC}.{path}": value})
    prefix = 'The PodCliqueSet "set" is invalid: '
    assert contract.refusal_of_create(manifest) == prefix + message


@pytest.mark.cluster
def test_keeps_quantities_as_a_pod_may_state_them(contract: Contract) -> None:
    amounts = {"cpu": 0.5, "memory": "1.5Gi", "a.example/x": 1, "a.example/y": "1e3", "b": "-1"}
    resources = {"requests": amounts, "limits": amounts, "claims": [{"name": "c", "request": "r"}]}
    pod_spec = {
        "containers": [{"name": "main", "image": "i", "resources": resources}],
        "resources": {"requests": amounts},
        "overhead": amounts,
    }
    stored = contract.store(pod_clique_set(clique("a", podSpec=pod_spec), name="quantities"))
    assert stored["spec"]["template"]["cliques"][0]["spec"]["podSpec"] == pod_spec


@pytest.mark.cluster
def test_drops_nulls_of_declared_fields_as_of_a_pod(contract: Contract) -> None:
    pod_spec = {
        "containers": [{"name": "main", "image": "i", "args": None}],
        "nodeSelector": None,
        "tolerations": None,
        "affinity": {"nodeAffinity": None},
    }
    stored = contract.store(pod_clique_set(clique("a", podSpec=pod_spec), name="nulls"))
    assert stored["spec"]["template"]["cliques"][0]["spec"]["podSpec"] == {
        "containers": [{"name": "main", "image": "i"}],
        "affinity": {},
    }


def test_nothing_of_a_pod_spec_is_defaulted_or_enumerated() -> None:
    inside = [node for node in all_nodes() if ".podSpec." in node.path]
    assert [n.path for n in inside if {"default", "enum"} & n.schema.keys()] == []


def test_lists_of_a_pod_spec_are_merged_as_they_were_before_they_were_declared() -> None:
    lists = [n for n in all_nodes() if ".podSpec." in n.path and n.schema.get("type") == "array"]
    by_name = {n.path for n in lists if n.schema["x-kubernetes-list-type"] != "atomic"}
    assert {path.split(".podSpec.")[1] for path in by_name} == {
        "containers",
        "initContainers",
        "containers[].env",
        "initContainers[].env",
    }
