"""How deep a spec may be nested where the policies are installed, unknown fields included."""

from typing import Any

import pytest

from local_cluster.cluster import Cluster
from local_cluster.pytest_plugin import fresh_namespace
from tests.contract.manifests import clique, pod_clique_set
from tests.deploy.kit import applied
from tests.deploy.people import Object, Person

pytestmark = pytest.mark.cluster

_LEVELS = 32
_ABOVE_POD_SPEC = 6  # spec.template.cliques[0].spec.podSpec.FIELD
_REFUSAL = (
    "spec is nested deeper than 32 levels: remove the nested value, usually a list or map in podSpec"
    " or in a claim template that contains itself"
)


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def _set(name: str, **pod_spec: Any) -> Object:
    containers = [{"name": "main", "image": "registry.example.com/app:1"}]
    found = pod_clique_set(clique("a", podSpec={"containers": containers, **pod_spec}), name=name)
    del found["metadata"]["namespace"]
    return {**found, "spec": {**found["spec"], "replicas": 0}}


def test_a_new_set_that_is_nested_too_deep_is_refused_and_a_stored_one_can_be_deleted(
    crds: Cluster,
) -> None:
    with fresh_namespace(crds) as space:
        somebody = Person(crds, space)
        somebody.do("create", "-f", "-", input=_set("stored", invented=_nested(300)))
        with applied(crds, "policies"):
            deepest = _LEVELS - _ABOVE_POD_SPEC
            too_deep = _set("deep", invented=_nested(deepest + 1))
            somebody.until_refused("create", "-f", "-", input=too_deep)
            assert somebody.refusal("create", "-f", "-", input=too_deep) == _REFUSAL
            assert not somebody.refusal(
                "create", "-f", "-", input=_set("a", invented=_nested(deepest))
            )

            affinity = {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}
            claim = {"spec": {"selector": affinity, "resources": {"requests": {"storage": "1Gi"}}}}
            volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}
            assert not somebody.refusal("create", "-f", "-", input=_set("b", volumes=[volume]))

            entries = [{"name": f"N{number}", "value": "v"} for number in range(4000)]
            long = {
                "containers": [{"name": f"c{n}", "image": "i", "env": entries} for n in range(6)]
            }
            assert not somebody.refusal("create", "-f", "-", input=_set("c", **long))

            somebody.do("label", "pcs", "stored", "a=b")
            somebody.do("scale", "pcs", "stored", "--replicas=1")
            somebody.do("delete", "pcs", "stored", "--cascade=foreground", "--timeout=60s")
