"""Names and labels are those that Grove's users and tools know."""

from core_operator.plan.layout import naming
from shared_api import names
from shared_api.models import PodCliqueSet
from tests.plan.samples import SET_UID, clique, pod_clique_set


def test_names_are_those_of_grove() -> None:
    group = naming.group_name("w", 0, "s")
    assert naming.podclique_name("w", 0, "a") == "w-0-a"
    assert group == "w-0-s"
    assert naming.group_podclique_name(group, 1, "c") == "w-0-s-1-c"
    assert naming.base_gang_name("w", 0) == "w-0"
    assert naming.scaled_gang_name(group, 0) == "w-0-s-0"
    assert naming.service_name("w", 0) == "w-0"
    assert naming.hostname("w-0-s-1-c", 2) == "w-0-s-1-c-2"
    assert naming.revision_name("w", "0123456789ab") == "w-0123456789ab"


def test_pods_find_each_other_under_the_service_in_the_cluster_domain() -> None:
    assert naming.headless_address("w", 0, "research") == "w-0.research.svc.cluster.local"
    assert naming.headless_address("w", 0, "research", "k8s.lab") == "w-0.research.svc.k8s.lab"


def test_labels_of_a_podclique_that_stands_alone() -> None:
    assert naming.podclique_labels("w", 0, "w-0-a", "w-0", "hash") == {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "w",
        "app.kubernetes.io/name": "w-0-a",
        "app.kubernetes.io/component": "pcs-podclique",
        "grove.io/podcliqueset-replica-index": "0",
        "grove.io/podgang": "w-0",
        "grove.io/pod-template-hash": "hash",
    }


def test_only_members_of_scaled_gangs_name_the_base_gang() -> None:
    in_base = naming.group_member_labels("w-0-s", 0, None)
    scaled = naming.group_member_labels("w-0-s", 1, "w-0")
    assert in_base == {
        "app.kubernetes.io/component": "pcsg-podclique",
        "grove.io/podcliquescalinggroup": "w-0-s",
        "grove.io/podcliquescalinggroup-replica-index": "0",
    }
    assert scaled["grove.io/base-podgang"] == "w-0"


def test_labels_of_groups_services_and_gangs_report_the_replica() -> None:
    replica = {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "w",
        "grove.io/podcliqueset-replica-index": "3",
    }
    assert naming.group_labels("w", 3, "w-3-s") == {
        **replica,
        "app.kubernetes.io/name": "w-3-s",
        "app.kubernetes.io/component": "pcs-podcliquescalinggroup",
    }
    assert naming.service_labels("w", 3) == {
        **replica,
        "app.kubernetes.io/name": "w-3",
        "app.kubernetes.io/component": "pcs-headless-service",
    }
    assert naming.gang_labels("w", 3, None) == {
        **replica,
        "app.kubernetes.io/component": "podgang",
    }
    assert naming.gang_labels("w", 3, "w-3")["grove.io/base-podgang"] == "w-3"


def test_a_pod_carries_the_labels_of_its_podclique_and_its_index() -> None:
    podclique = naming.podclique_labels("w", 0, "w-0-a", "w-0", "hash")
    labels = naming.pod_labels("w-0-a", podclique, 4)
    assert labels == {
        **podclique,
        "grove.io/podclique": "w-0-a",
        "grove.io/podclique-pod-index": "4",
    }
    assert names.LABEL_POD_INDEX not in podclique


def test_gangs_inherit_neither_our_keys_nor_the_manifest_that_kubectl_keeps() -> None:
    assert naming.is_inherited("team")
    assert naming.is_inherited("scheduling.grove.io/volcano-queue")
    assert not naming.is_inherited("grove.io/scheduler-backend")
    assert not naming.is_inherited("kubectl.kubernetes.io/last-applied-configuration")


def test_an_owner_is_referred_to_by_uid_as_controller() -> None:
    pcs = pod_clique_set(clique("a"))
    assert naming.controller_reference(pcs).manifest() == {
        "apiVersion": PodCliqueSet.API_VERSION,
        "kind": "PodCliqueSet",
        "name": "w",
        "uid": SET_UID,
        "controller": True,
        "blockOwnerDeletion": True,
    }
