"""A queue, and what else users set for a scheduler, comes from the set, else from its cliques."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from backend_controllers.contract.declaration import Translation
from backend_controllers.contract.requested_values import SETS, ObservedSet, requested_values
from backend_controllers.kai.mirroring import mirror as kai_mirror
from backend_controllers.kai.translation import translate as kai_translate
from backend_controllers.volcano.translation import translate as volcano_translate
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.predicates import Watched
from tests.backends.kai import kit as kai
from tests.backends.volcano import kit as volcano
from tests.backends.yunikorn import kit as yunikorn

Object = dict[str, Any]
KEY = "kai.scheduler/queue"
OWNER = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "PodCliqueSet",
    "name": "web",
    "uid": "set-uid",
    "controller": True,
}
OWNED: Object = {"ownerReferences": [OWNER]}


def pcs(*cliques: Object, uid: str = "set-uid", **metadata: Any) -> tuple[Resource, Watched]:
    """The set of all gangs here; a clique is `labelled` or `annotated`."""
    body = {
        "metadata": {"name": "web", "namespace": kai.NAMESPACE, "uid": uid, **metadata},
        "spec": {"template": {"cliques": list(cliques)}},
    }
    return SETS, msgspec.convert(body, ObservedSet)


def labelled(name: str, value: str, key: str = KEY) -> Object:
    return {"name": name, "labels": {key: value}}


def annotated(name: str, value: str, key: str = KEY) -> Object:
    return {"name": name, "annotations": {key: value}}


def value_of(*objects: tuple[Resource, Watched], metadata: Object | None = None) -> str | None:
    gang = kai.gang(metadata={**OWNED, **(metadata or {})})
    return requested_values(gang, kai.GivenFacts(*objects)).value(KEY)


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (pcs(labelled("a", "q"), labelled("b", "q")), "q"),
        (pcs({"name": "a"}, annotated("b", "q")), "q"),
        (pcs(annotated("a", " q ")), "q"),
        (pcs({"name": "a", "labels": {KEY: "q"}, "annotations": {KEY: "x"}}), "q"),
        (pcs({"name": "a"}, labels={KEY: "q"}), "q"),
        (pcs(labelled("a", "q"), annotations={KEY: "q"}), "q"),
        (pcs({"name": "a"}), None),
    ],
)
def test_the_value_of_the_set_counts_else_that_of_a_clique(
    found: tuple[Resource, Watched], value: str | None
) -> None:
    assert value_of(found) == value


def test_a_gang_keeps_what_is_set_on_itself_alone() -> None:
    assert value_of(pcs({"name": "a"}), metadata={"labels": {KEY: "mine"}}) == "mine"
    lonely = kai.gang(metadata={"labels": {KEY: "mine"}})
    assert requested_values(lonely, kai.GivenFacts()).value(KEY) == "mine"


def test_what_a_gang_inherited_before_the_set_was_changed_does_not_contradict() -> None:
    gang = kai.gang(metadata={**OWNED, "labels": {KEY: "old"}})
    requested = requested_values(gang, kai.GivenFacts(pcs(labelled("a", "q"), labels={KEY: "q"})))
    assert (requested.value(KEY), requested.contradiction(KEY)) == ("q", "")


@pytest.mark.parametrize("objects", [(), (pcs(labelled("a", "q"), uid="another"),)])
def test_nothing_is_decided_before_the_set_of_a_gang_is_known(
    objects: tuple[tuple[Resource, Watched], ...],
) -> None:
    gang = kai.gang(metadata=OWNED)
    translation = kai_translate(kai.installed(), gang, kai.GivenFacts(*objects))
    assert translation == Translation(lacks="PodCliqueSet web")


def test_values_that_differ_are_listed_with_their_cliques() -> None:
    facts = kai.GivenFacts(
        pcs(labelled("a", "q"), annotated("b", "r"), {"name": "c"}, labelled("d", "r"))
    )
    assert requested_values(kai.gang(metadata=OWNED), facts).contradiction(KEY) == (
        f"{KEY} has different values: 'q' on clique a; 'r' on cliques b, d. All cliques share one"
        " value: set it on the PodCliqueSet alone, or the same on all cliques"
    )
    facts = kai.GivenFacts(pcs(labelled("a", "q"), labelled("b", "r"), labels={KEY: "q"}))
    found = requested_values(kai.gang(metadata=OWNED), facts).contradiction(KEY)
    assert "'q' on the PodCliqueSet and clique a; 'r' on clique b." in found


def by_kai(gang: ObservedPodGang, *objects: tuple[Resource, Watched]) -> Translation:
    return kai_translate(kai.installed(), gang, kai.GivenFacts(*objects))


def by_volcano(gang: ObservedPodGang, *objects: tuple[Resource, Watched]) -> Translation:
    return volcano_translate(volcano.installed(), gang, volcano.GivenFacts(*objects))


def by_yunikorn(gang: ObservedPodGang, *objects: tuple[Resource, Watched]) -> Translation:
    return yunikorn.translated(gang, *yunikorn.cliques(), *objects)


SCHEDULERS: list[Any] = [
    pytest.param(kai.gang, by_kai, KEY, id="kai"),
    pytest.param(volcano.gang, by_volcano, "scheduling.volcano.sh/queue-name", id="volcano"),
    pytest.param(volcano.gang, by_volcano, "scheduling.grove.io/volcano-queue", id="grove"),
    pytest.param(yunikorn.gang, by_yunikorn, "yunikorn.apache.org/queue", id="yunikorn"),
]


def queue_of(translation: Translation) -> object:
    assert translation.refusals == ()
    if translation.objects:
        spec = translation.objects[0].manifest["spec"]
        assert isinstance(spec, dict)
        return spec["queue"]
    members = translation.preparations[0].members
    assert members is not None
    return members.labels["yunikorn.apache.org/queue"]


@pytest.mark.parametrize(("gang", "translated", "key"), SCHEDULERS)
def test_each_scheduler_takes_its_queue_from_the_cliques(
    gang: Callable[..., ObservedPodGang], translated: Callable[..., Translation], key: str
) -> None:
    it = gang(metadata=OWNED)
    assert queue_of(translated(it, pcs({"name": "a"}, labelled("b", "team", key)))) == "team"
    assert queue_of(translated(it, pcs(annotated("a", "team", key)))) == "team"


@pytest.mark.parametrize(("gang", "translated", "key"), SCHEDULERS)
def test_each_scheduler_refuses_queues_that_differ(
    gang: Callable[..., ObservedPodGang], translated: Callable[..., Translation], key: str
) -> None:
    found = translated(gang(metadata=OWNED), pcs(labelled("a", "x", key), labelled("b", "y", key)))
    [refusal] = found.refusals
    assert key in refusal
    assert "'x' on clique a; 'y' on clique b." in refusal
    assert (found.objects, found.preparations) == ((), ())


def test_kai_reports_a_queue_of_cliques_that_does_not_exist() -> None:
    facts = kai.GivenFacts(pcs(labelled("a", "ghost")))
    found = kai_mirror(kai.installed(), kai.gang(metadata=OWNED), facts)
    assert found.reason == "QueueDoesNotExist"
    assert "queue 'ghost' does not exist" in found.message


@pytest.mark.parametrize(
    "key", ["priorityClassName", "kai.scheduler/preemptibility", "kai.scheduler/node-pool"]
)
def test_kai_refuses_other_settings_of_cliques_that_differ(key: str) -> None:
    team = {KEY: "team"}
    values = [
        {"name": name, "labels": {**team, key: value}}
        for name, value in (("a", "preemptible"), ("b", "non-preemptible"))
    ]
    [refusal] = by_kai(kai.gang(metadata=OWNED), pcs(*values)).refusals
    assert refusal.startswith(f"{key} has different values: 'preemptible' on clique a; ")


def test_kai_takes_priority_preemptibility_delays_and_node_pool_from_the_cliques() -> None:
    settings = {
        KEY: "team",
        "priorityClassName": "train",
        "kai.scheduler/preemptibility": "preemptible",
        "kai.scheduler/node-pool": "h100",
        "kai.scheduler/preemption-delay": "5s",
    }
    for kind in ("labels", "annotations"):
        clique = {"name": "a", kind: settings}
        [rendered] = by_kai(kai.gang(metadata=OWNED), pcs({"name": "b"}, clique)).objects
        manifest: Any = rendered.manifest
        assert manifest["spec"]["queue"] == "team"
        assert manifest["spec"]["priorityClassName"] == "train"
        assert manifest["spec"]["preemptibility"] == "preemptible"
        assert manifest["spec"]["preemptionDelay"] == "5s"
        assert manifest["metadata"]["labels"]["kai.scheduler/node-pool"] == "h100"
