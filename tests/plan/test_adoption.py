"""What Grove's operator made keeps its hashes, and loses only Grove's finalizers."""

from core_operator.plan.adoption import adopted_revision, finalizer_patch
from core_operator.plan.layout.expansion import expand
from core_operator.plan.layout.history import set_hash, template_hashes
from core_operator.plan.layout.naming import controller_reference
from core_operator.plan.manifests.podcliques import group_podclique, standalone_podclique
from shared_api import names
from shared_api.models import PodClique, PodCliqueSet, PodCliqueSetStatus
from tests.plan.samples import clique, group, pod_clique_set, pod_spec

GIVEN = {"a": "grove-a", "b": "grove-b", "c": "grove-c"}


def workload(version: int = 1) -> PodCliqueSet:
    return pod_clique_set(
        clique("a"),
        clique("b", pod=pod_spec(version=version)),
        clique("c"),
        groups=(group("s", "b", "c", replicas=2),),
        priorityClassName="high",
    ).model_copy(update={"status": PodCliqueSetStatus(current_generation_hash="grove-set")})


def podcliques(pcs: PodCliqueSet) -> list[PodClique]:
    """The PodCliques of a set, with the hashes that Grove gave them."""
    owner = controller_reference(pcs)
    found = []
    for one in expand(pcs, {}).cliques:
        manifest = (standalone_podclique if one.group is None else group_podclique)(
            pcs, one, owner, None
        )
        podclique = PodClique.model_validate(manifest)
        given = {names.LABEL_POD_TEMPLATE_HASH: GIVEN[one.template.name]}
        metadata = podclique.metadata.model_copy(
            update={"labels": {**podclique.metadata.labels, **given}}
        )
        found.append(podclique.model_copy(update={"metadata": metadata}))
    return found


def test_a_set_without_a_revision_has_the_hashes_of_its_podcliques() -> None:
    pcs = workload()
    adopted = adopted_revision(pcs, podcliques(pcs))
    assert adopted is not None
    assert template_hashes(pcs, [adopted]) == GIVEN
    assert set_hash(pcs, [adopted]) == "grove-set"


def test_templates_that_changed_since_then_are_outdated() -> None:
    adopted = adopted_revision(workload(2), podcliques(workload(1)))
    assert adopted is not None
    hashes = template_hashes(workload(2), [adopted])
    assert hashes["a"] == "grove-a"
    # The replicas of a group are replaced whole.
    assert hashes["b"] != "grove-b"
    assert hashes["c"] != "grove-c"
    assert set_hash(workload(2), [adopted]) != "grove-set"


def test_a_set_without_podcliques_adopts_nothing() -> None:
    assert adopted_revision(workload(), []) is None


def test_only_the_finalizers_of_grove_are_removed_and_only_as_observed() -> None:
    assert finalizer_patch("u", ("example.com/mine", "foregroundDeletion")) == []
    patch = finalizer_patch("u", (names.FINALIZER_GROVE_PCS, "example.com/mine"))
    assert patch == [
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": "/metadata/finalizers/0", "value": names.FINALIZER_GROVE_PCS},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]
