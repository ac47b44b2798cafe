"""What the policies refuse, to whom, and in which words."""

import json

import pytest

from local_cluster.cluster import Cluster
from shared_api import names
from tests.core.kit import clique, pcs
from tests.deploy.kit import DEPLOY
from tests.deploy.people import Object, Person, pod, podclique, podgang, scaling_group

pytestmark = pytest.mark.cluster

OPTED_IN = DEPLOY / "policies" / "opted-in" / "namespaces.yaml"
_FOR_CORE = (
    " has the label app.kubernetes.io/managed-by=grove-operator, which is for objects that core"
    " creates from a PodCliqueSet: create a PodCliqueSet instead"
)
_SPEC = (
    " is managed by core: only spec.replicas can be changed here, change the rest in its"
    " PodCliqueSet"
)
_LABELS = " is managed by core: its labels grove.io/*, managed-by and part-of cannot be changed"


def _made(person: Person, manifest: Object) -> Object:
    """Create an object that exists, so that nobody collects what refers to it."""
    person.do("create", "-f", "-", input=manifest)
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    uid = person.do("get", kind, name, "-o", "jsonpath={.metadata.uid}")
    return {"apiVersion": manifest["apiVersion"], "kind": kind, "name": name, "uid": uid}


def _merge(body: Object) -> tuple[str, ...]:
    return ("--type=merge", "-p", json.dumps(body))


def test_what_core_makes_is_changed_by_core_alone(policed: Cluster, space: str) -> None:
    core, alice = Person(policed, space), Person(policed, space, "alice").empowered()
    for manifest in (podclique("c"), scaling_group("g"), podgang("w-0"), podgang("free", "kai")):
        kind = manifest["kind"]
        refusal = alice.refusal("create", "-f", "-", input=manifest)
        assert refusal == f"{kind} {manifest['metadata']['name']}{_FOR_CORE}"
        core.do("create", "-f", "-", input=manifest)
    changes: list[tuple[tuple[str, ...], str]] = [
        (("patch", "pclq", "c", *_merge({"spec": {"podSpec": {"hostNetwork": True}}})), _SPEC),
        (("patch", "pclq", "c", *_merge({"spec": {"minAvailable": 1}})), _SPEC),
        (("patch", "pcsg", "g", *_merge({"spec": {"cliqueNames": ["a", "b"]}})), _SPEC),
        (("patch", "podgang", "w-0", *_merge({"spec": {"podgroups": []}})), _SPEC),
        (("label", "pclq", "c", "app.kubernetes.io/managed-by-"), _LABELS),
        (("label", "pclq", "c", "--overwrite", "app.kubernetes.io/part-of=x"), _LABELS),
        (("label", "pclq", "c", "grove.io/podgang=x"), _LABELS),
        (("label", "podgang", "w-0", "--overwrite", "grove.io/scheduler-backend=kai"), _LABELS),
    ]
    for words, ending in changes:
        assert alice.refusal(*words).endswith(ending), words
    stranger = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}
    owners = _merge({"metadata": {"ownerReferences": [stranger]}})
    assert alice.refusal("patch", "pclq", "c", *owners) == (
        "PodClique c is managed by core: its owner references cannot be changed"
    )
    # The same words from somebody who has the right to: an administrator.
    for words, _ in changes[:3]:
        core.do(*words)


def test_only_core_removes_gates_and_changes_labels_of_pods(policed: Cluster, space: str) -> None:
    core, alice = Person(policed, space), Person(policed, space, "alice").empowered()
    held = pod("p", "example.com/other", names.GATE_PODGANG)
    assert alice.refusal("create", "-f", "-", input=held) == f"pod p{_FOR_CORE}"
    core.do("create", "-f", "-", input=held)
    lift = ("patch", "pod", "p", "--type=json", "-p")
    ours = json.dumps([{"op": "remove", "path": "/spec/schedulingGates/1"}])
    both = json.dumps([{"op": "remove", "path": "/spec/schedulingGates"}])
    held_back = (
        "pod p is gated until its gang is complete: only core removes the scheduling gate"
        " grove.io/podgang"
    )
    assert alice.refusal(*lift, ours) == held_back
    assert alice.refusal(*lift, both) == held_back
    assert alice.refusal("label", "pod", "p", "app.kubernetes.io/managed-by-") == f"pod p{_LABELS}"
    bend = ("label", "pod", "p", "--overwrite", "grove.io/podgang=other")
    assert alice.refusal(*bend) == f"pod p{_LABELS}"
    cleared = f"{names.ANNOTATION_STARTUP_ORDER}={names.STARTUP_CLEARED}"
    assert alice.refusal("annotate", "pod", "p", "--overwrite", cleared) == (
        "pod p is managed by core: its annotations grove.io/* cannot be changed"
    )
    core.do(*lift, ours)


def test_nobody_but_us_makes_objects_that_our_kinds_control(policed: Cluster, space: str) -> None:
    core, alice = Person(policed, space), Person(policed, space, "alice").empowered()
    owner = _made(core, pcs("web", clique("a")))
    theirs = {**owner, "controller": True}
    for manifest in (podclique("c"), scaling_group("g"), podgang("w-0"), pod("p")):
        del manifest["metadata"]["labels"]
        kind = manifest["kind"]
        manifest["metadata"]["ownerReferences"] = [theirs]
        refusal = alice.refusal("create", "-f", "-", input=manifest)
        name = manifest["metadata"]["name"]
        assert refusal == (
            f"{kind} {name} names PodCliqueSet web as its controller: only core and backends create"
            " such objects; remove the owner reference"
        )
        manifest["metadata"]["ownerReferences"] = [owner]
        alice.do("create", "-f", "-", input=manifest)
        adopt = _merge({"metadata": {"ownerReferences": [theirs]}})
        words = f"{kind} {name} names PodCliqueSet web"
        assert alice.refusal("patch", f"{kind}/{name}", *adopt).startswith(words)
        core.do("patch", f"{kind}/{name}", "--dry-run=server", *adopt)


def test_the_controller_of_a_managed_pod_is_changed_by_core_alone(
    policed: Cluster, space: str
) -> None:
    core, alice = Person(policed, space), Person(policed, space, "alice").empowered()
    owner = _made(core, podclique("c"))
    core.do("create", "-f", "-", input=pod("p", names.GATE_PODGANG, ownerReferences=[owner]))
    moved = json.dumps([{"op": "replace", "path": "/metadata/ownerReferences/0/uid", "value": "v"}])
    for patch in (
        ("--type=json", "-p", moved),
        _merge({"metadata": {"ownerReferences": []}}),
    ):
        assert alice.refusal("patch", "pod", "p", *patch) == (
            "pod p is managed by core: its owner references cannot be changed"
        )


def test_a_released_gang_stays_with_its_backend_for_every_user(
    policed: Cluster, space: str
) -> None:
    anybody = Person(policed, space)
    anybody.do("create", "-f", "-", input=podgang("w-0", "kai"))
    move = ("label", "podgang", "w-0", "--overwrite", "grove.io/scheduler-backend=default")
    anybody.do(*move)
    released = {
        "type": "Released",
        "status": "True",
        "reason": "Released",
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    said = _merge({"status": {"conditions": [released]}})
    anybody.do("patch", "podgang", "w-0", "--subresource=status", *said)
    back = (*move[:-1], "grove.io/scheduler-backend=kai")
    words = (
        "PodGang w-0 was released to backend default: the backend of a gang can be changed only"
        " before its pods are ungated"
    )
    assert anybody.refusal(*back) == words
    assert anybody.refusal("label", "podgang", "w-0", "grove.io/scheduler-backend-") == words
    anybody.do("label", "podgang", "w-0", "color=blue")


def test_a_bound_namespace_uses_its_own_backends_and_queues(policed: Cluster, space: str) -> None:
    anybody = Person(policed, space)
    anybody.do("create", "-f", "-", input=pcs("old", clique("a"), annotations=_asking("volcano")))
    bind = ("backend.grove.io/default=allowed", "backend.grove.io/kai=allowed")
    anybody.do("label", "namespace", space, *bind, "queue.grove.io/team-a=allowed")
    anybody.until_refused("create", "-f", "-", input=podgang("probe", "volcano"))
    ask = ("create", "-f", "-")

    def said(*words: str, input: Object | None = None) -> str:
        # Labels are a map, and come in any order.
        text = anybody.refusal(*words, input=input)
        return text.replace("[kai, default]", "[default, kai]")

    place = f"namespace {space} may use these backends: [default, kai], and "
    several = pcs("s", clique("a"), annotations=_asking("kai, volcano"))
    assert said(*ask, input=several) == f"{place}PodCliqueSet s asks for volcano"
    assert said(*ask, input=pcs("s", clique("a"))) == f"{place}PodCliqueSet s names none"
    gang = podgang("w-0", "volcano")
    assert said(*ask, input=gang) == f"{place}PodGang w-0 asks for volcano"
    queues = f"namespace {space} may use these queues: [team-a], and "
    queued = podgang("w-1", "kai", labels={"kai.scheduler/queue": "team-b"})
    assert said(*ask, input=queued) == f"{queues}PodGang w-1 asks for team-b"
    assert said(*ask, input=podgang("w-2", "kai")) == f"{queues}PodGang w-2 names none"
    both = {"kai.scheduler/queue": "team-a", "yunikorn.apache.org/queue": "root.b"}
    assert said(*ask, input=podgang("w-3", "kai", labels=both)) == (
        f"{queues}PodGang w-3 asks for root.b"
    )
    on_kai = pcs("t", clique("a"), annotations=_asking("kai,default"))
    assert said(*ask, input=on_kai) == f"{queues}PodCliqueSet t names none"
    on_kai["metadata"]["labels"] = {"kai.scheduler/queue": "team-a"}
    of_set = podgang("w-6", "kai")
    of_set["metadata"]["ownerReferences"] = [{**_made(anybody, on_kai), "controller": True}]
    idle = podgang("w-5")
    del idle["metadata"]["labels"][names.LABEL_SCHEDULER_BACKEND]
    for allowed in (
        idle,
        of_set,
        pcs("u", clique("a"), annotations=_asking("default")),
        podgang("w-3", "default"),
        podgang("w-4", "kai", labels={"kai.scheduler/queue": "team-a"}),
    ):
        anybody.do(*ask, input=allowed)
    # What was there before lives on: it can be scaled, labelled, changed otherwise, and deleted.
    anybody.do("scale", "pcs", "old", "--replicas=2")
    anybody.do("label", "pcs", "old", "color=blue")
    other = ("annotate", "pcs", "t", "--overwrite", "grove.io/scheduler-backend=volcano")
    assert said(*other) == f"{place}PodCliqueSet t asks for volcano"
    anybody.do("delete", "pcs", "old")


def test_a_bound_namespace_checks_the_queues_of_cliques(policed: Cluster, space: str) -> None:
    anybody, ask = Person(policed, space), ("create", "-f", "-")
    anybody.do("label", "namespace", space, "queue.grove.io/team-a=allowed")
    anybody.until_refused(*ask, input=pcs("probe", clique("a"), annotations=_asking("kai")))
    queues = f"namespace {space} may use these queues: [team-a], and PodCliqueSet s "

    def a_set(*queues: str, key: str = "labels", **pod_spec: str) -> Object:
        cliques = [clique(f"c{index}", podSpec=pod_spec) for index in range(max(len(queues), 1))]
        for entry, queue in zip(cliques, queues, strict=False):
            entry[key] = {"kai.scheduler/queue": queue}
        return pcs("s", *cliques)

    assert anybody.refusal(*ask, input=a_set("team-b")) == f"{queues}asks for team-b"
    both = a_set("team-a", "team-b", key="annotations")
    assert anybody.refusal(*ask, input=both) == f"{queues}asks for team-b"
    # Core may give it to any backend, with its default queue.
    assert anybody.refusal(*ask, input=a_set()) == f"{queues}names none"
    on_kai = a_set(schedulerName="kai-scheduler")
    assert anybody.refusal(*ask, input=on_kai) == f"{queues}names none"
    anybody.do(*ask, "--dry-run=server", input=a_set(schedulerName="default-scheduler"))
    allowed = a_set("team-a", "", key="annotations", schedulerName="kai-scheduler")
    anybody.do(*ask, input=allowed)
    allowed["spec"]["template"]["cliques"][1]["annotations"] = {"kai.scheduler/queue": "team-b"}
    assert anybody.refusal("replace", "-f", "-", input=allowed) == f"{queues}asks for team-b"


def test_only_namespaces_that_opted_in_have_sets_where_that_is_asked_for(
    policed: Cluster, space: str
) -> None:
    anybody = Person(policed, space)
    policed.kubectl("apply", "--server-side", "-f", str(OPTED_IN))
    try:
        anybody.until_refused("create", "-f", "-", input=pcs("probe", clique("a")))
        assert anybody.refusal("create", "-f", "-", input=pcs("w", clique("a"))) == (
            f"namespace {space} did not opt in: label it grove.io/workloads=allowed to run"
            " PodCliqueSets there"
        )
        anybody.do("create", "-f", "-", input=pod("p"))
        anybody.do("label", "namespace", space, "grove.io/workloads=allowed")
        # The server hears of a label by a watch of its own.
        ask = ("create", "-f", "-", "--dry-run=server")
        for _ in range(200):
            if not anybody.refusal(*ask, input=pcs("w", clique("a"))):
                break
        anybody.do("create", "-f", "-", input=pcs("w", clique("a")))
    finally:
        policed.kubectl("delete", "-f", str(OPTED_IN))


def _asking(backends: str) -> dict[str, str]:
    return {names.ANNOTATION_SCHEDULER_BACKEND: backends}
