"""New topology bindings and backend records that the API server refuses, and why."""

import pytest

from tests.contract.conftest import UNCHECKED, Contract
from tests.contract.manifests import (
    ABSENT,
    Manifest,
    changed,
    clique,
    pod_clique_set,
    scheduler_backend,
    topology_binding,
)

pytestmark = pytest.mark.cluster

RACKS = (("zone", "topo/zone"), ("rack", "topo/rack"))

OTHERS: dict[str, tuple[Manifest, str]] = {
    "a binding without levels": (
        topology_binding(),
        'The ClusterTopologyBinding "topology" is invalid: spec.levels: Invalid value: 0: spec.levels in'
        " body should have at least 1 items",
    ),
    "two levels of one domain": (
        topology_binding(("rack", "topo/zone"), ("rack", "topo/rack")),
        'The ClusterTopologyBinding "topology" is invalid: spec.levels: Invalid value:'
        ' spec.levels[1].domain: Duplicate value: "rack"',
    ),
    "two levels of one key": (
        topology_binding(("zone", "topo/rack"), ("rack", "topo/rack")),
        'The ClusterTopologyBinding "topology" is invalid: spec.levels: Invalid value:'
        ' spec.levels[1].key: Duplicate value: "topo/rack"',
    ),
    "a level key that is no label key": (
        topology_binding(("zone", "topo//zone")),
        'The ClusterTopologyBinding "topology" is invalid: spec.levels[0].key: Invalid value: "topo//zone":'
        " spec.levels[0].key in body should match"
        " '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$'",
    ),
    "two bindings of one scheduler": (
        topology_binding(
            *RACKS,
            schedulerTopologyBindings=[{"schedulerName": "one", "topologyReference": "net"}] * 2,
        ),
        'The ClusterTopologyBinding "topology" is invalid: spec.schedulerTopologyBindings[1]: Duplicate'
        ' value: {"schedulerName":"one"}',
    ),
    "a backend without scheduler names": (
        scheduler_backend(schedulerNames=[]),
        'The SchedulerBackend "example" is invalid: spec.schedulerNames: Invalid value: 0:'
        " spec.schedulerNames in body should have at least 1 items",
    ),
    "a gate that is no qualified name": (
        scheduler_backend(schedulingGate="not a gate"),
        'The SchedulerBackend "example" is invalid: spec.schedulingGate: Invalid value: "not a gate": must'
        " be a qualified name such as example.com/name",
    ),
    "static patches of a backend that prepares per gang": (
        scheduler_backend(preparation={"mode": "PerGang", "members": {}}),
        'The SchedulerBackend "example" is invalid: spec.preparation: Forbidden: members and surplus belong'
        " to mode Static; with PerGang they are in status.podPreparations of each PodGang",
    ),
    "a backend that labels pods as applications do": (
        scheduler_backend(preparation={"mode": "Static", "members": {"labels": {"app": "x"}}}),
        'The SchedulerBackend "example" is invalid: spec: Forbidden: a backend may not set labels and'
        " annotations without a domain, or of kubernetes.io, k8s.io and grove.io, other than those for"
        " scheduling",
    ),
    "a backend that sets what it does not list": (
        scheduler_backend(
            podKeys=["example.com/"],
            preparation={"mode": "Static", "surplus": {"annotations": {"example.org/x": "y"}}},
        ),
        'The SchedulerBackend "example" is invalid: spec.podKeys: Forbidden: labels and annotations of'
        " patches and afterBound must be listed in podKeys",
    ),
    "a backend that gives pods a class of the system": (
        scheduler_backend(
            preparation={
                "mode": "Static",
                "members": {"spec": {"priorityClassName": "system-node-critical"}},
            }
        ),
        'The SchedulerBackend "example" is invalid: spec.preparation.members.spec.priorityClassName:'
        " Forbidden: priority classes of the system cannot be given to pods by a backend",
    ),
    "a backend whose name is no label value": (
        changed(scheduler_backend(), {"metadata.name": "a.b"}),
        'The SchedulerBackend "a.b" is invalid: metadata.name: Invalid value: metadata.name must be usable'
        " as a label value without '.', of at most 63 characters",
    ),
    "a set without a template": (
        changed(pod_clique_set(clique("a")), {"spec.template": ABSENT}),
        'The PodCliqueSet "set" is invalid: \n* spec.template: Required value' + UNCHECKED,
    ),
}


@pytest.mark.parametrize(("manifest", "message"), OTHERS.values(), ids=OTHERS.keys())
def test_refuses(contract: Contract, manifest: Manifest, message: str) -> None:
    assert contract.refusal_of_create(manifest) == message
