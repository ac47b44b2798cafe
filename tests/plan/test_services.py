"""The headless Service selects the pods of one replica and no others."""

import pytest

from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import expand
from core_operator.plan.manifests.podcliques import group_podclique, standalone_podclique
from core_operator.plan.manifests.services import headless_service
from shared_api.models import JsonObject, PodClique, PodCliqueSet
from tests.plan.samples import NAMESPACE, SET_UID, worked_example


def selector_of(service: JsonObject) -> dict[str, str]:
    spec = service["spec"]
    assert isinstance(spec, dict)
    selector = spec["selector"]
    assert isinstance(selector, dict)
    return {key: str(value) for key, value in selector.items()}


def pods_of(pcs: PodCliqueSet) -> list[tuple[int, dict[str, str]]]:
    owner = naming.controller_reference(pcs)
    found = []
    for instance in expand(pcs, {}).cliques:
        render = standalone_podclique if instance.group is None else group_podclique
        podclique = PodClique.model_validate(render(pcs, instance, owner, None))
        labels = naming.pod_labels(instance.name, podclique.metadata.labels, 0)
        found.append((instance.pcs_index, labels))
    return found


def test_the_service_of_the_worked_example() -> None:
    assert headless_service(worked_example(), 0) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "w-0",
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator",
                "app.kubernetes.io/part-of": "w",
                "app.kubernetes.io/name": "w-0",
                "app.kubernetes.io/component": "pcs-headless-service",
                "grove.io/podcliqueset-replica-index": "0",
            },
            "ownerReferences": [
                {
                    "apiVersion": "grove.io/v1alpha1",
                    "kind": "PodCliqueSet",
                    "name": "w",
                    "uid": SET_UID,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {
                "app.kubernetes.io/managed-by": "grove-operator",
                "app.kubernetes.io/part-of": "w",
                "grove.io/podcliqueset-replica-index": "0",
            },
        },
    }


@pytest.mark.parametrize("index", [0, 1])
def test_pods_of_the_replica_are_selected_and_only_they(index: int) -> None:
    pcs = worked_example(replicas=2)
    selector = selector_of(headless_service(pcs, index))
    for replica, labels in pods_of(pcs):
        assert (selector.items() <= labels.items()) == (replica == index)


def test_addresses_of_pods_that_are_not_ready_are_left_out_on_request() -> None:
    pcs = worked_example(headlessServiceConfig={"publishNotReadyAddresses": False})
    spec = headless_service(pcs, 0)["spec"]
    assert isinstance(spec, dict)
    assert spec["publishNotReadyAddresses"] is False
