"""A tenant cannot use the priority class of the product's own controllers."""

import pytest

from tests.attacks.kit import Attacker
from tests.core.kit import clique, pcs
from tests.deploy.people import podgang

pytestmark = pytest.mark.cluster


def _pod(name: str, priority_class: str | None) -> dict[str, object]:
    container = {"name": "main", "image": "registry.example.com/app:1"}
    spec: dict[str, object] = {"containers": [container]}
    if priority_class is not None:
        spec["priorityClassName"] = priority_class
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_pods_of_tenants_cannot_have_the_priority_of_the_controllers(attacker: Attacker) -> None:
    refusal = attacker.refusal("create", "-f", "-", input=_pod("p", "grove-controllers"))
    assert refusal == (
        "Pod p names the priority class grove-controllers, which is for the controllers of this"
        " product: name another class"
    )
    attacker.do("create", "-f", "-", input=_pod("p", None))


def test_sets_and_gangs_cannot_be_ordered_by_the_class_of_the_controllers(
    attacker: Attacker,
) -> None:
    named = pcs("w", clique("a"), priorityClassName="grove-controllers")
    gang = podgang("w-0", labels={})
    del gang["metadata"]["labels"]
    gang["spec"]["priorityClassName"] = "grove-controllers"
    for manifest in (named, gang):
        refusal = attacker.refusal("create", "-f", "-", input=manifest)
        assert refusal.endswith("for the controllers of this product: name another class")
