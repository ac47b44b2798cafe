"""A tenant cannot use the priority class of the product's own controllers."""

import pytest

from tests.attacks.kit import Attacker

pytestmark = pytest.mark.cluster


def _pod(name: str, priority_class: str | None) -> dict[str, object]:
    container = {"name": "main", "image": "registry.example.com/app:1"}
    spec: dict[str, object] = {"containers": [container]}
    if priority_class is not None:
        spec["priorityClassName"] = priority_class
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_pods_of_tenants_cannot_have_the_priority_of_the_controllers(attacker: Attacker) -> None:
    refusal = attacker.refused("create", "-f", "-", input=_pod("p", "grove-controllers"))
    assert "grove-controllers" in refusal
    attacker.do("create", "-f", "-", input=_pod("p", None))
