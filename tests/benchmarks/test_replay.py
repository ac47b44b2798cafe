"""Recorded writes become writes that another cluster accepts."""

import json

from benchmarks.product.replay import Recorded, between, plan

SET, CLIQUE, POD = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "abc")
APPLY = "application/apply-patch+yaml"


def write(number: int, target: str, uid: str, body: object) -> Recorded:
    return Recorded(number, "PATCH", target, APPLY, json.dumps(body), uid)


def owned_by(uid: str, **metadata: str) -> dict[str, object]:
    return {"metadata": {"ownerReferences": [{"uid": uid}], **metadata}}


def lift_gate(number: int) -> Recorded:
    path = "/spec/schedulingGates/0"
    body = [
        {"op": "test", "path": "/metadata/uid", "value": POD},
        {"op": "remove", "path": path},
    ]
    return write(number, "/pods/p", POD, body)


def test_only_what_was_sent_until_the_last_gate_is_replayed() -> None:
    recorded = [
        lift_gate(7),
        write(3, "/a", CLIQUE, {}),
        write(9, "/late", CLIQUE, {}),
        lift_gate(5),
    ]
    assert [item.number for item in between(recorded, 0)] == [3, 5, 7]


def test_what_two_processes_sent_in_a_time_is_replayed_in_one_order() -> None:
    core = [write(2, "/early", CLIQUE, {}), write(4, "/a", CLIQUE, {}), lift_gate(8)]
    backend = [write(6, "/b", POD, {}), write(11, "/late", POD, {})]
    assert [item.number for item in between([*core, *backend], 4, 10)] == [4, 6, 8]


def test_what_is_added_to_an_event_of_before_is_left_out() -> None:
    old = write(5, "/events/old", POD, {"series": {"count": 2}})
    made = Recorded(6, "POST", "/events", "application/json", "{}", CLIQUE)
    again = write(7, "/events/new", CLIQUE, {"series": {"count": 2}})
    assert between([old, made, again], 4, 10) == [made, again]


def test_a_uid_becomes_the_one_that_the_object_has_now() -> None:
    (step,) = plan([write(1, "/cliques/c", CLIQUE, owned_by(SET))], frozenset({SET}))
    assert json.loads(step.body({SET: "new"})) == owned_by("new")


def test_a_write_waits_for_the_objects_that_it_names() -> None:
    steps = plan(
        [
            write(1, "/cliques/c", CLIQUE, owned_by(SET)),
            write(2, "/services/s", "other", owned_by(SET)),
            write(3, "/pods/p", POD, owned_by(CLIQUE)),
            lift_gate(4),
        ],
        frozenset({SET}),
    )
    assert [sorted(step.waits_for) for step in steps] == [[], [], [0], [2]]


def test_writes_to_one_object_keep_their_order() -> None:
    steps = plan(
        [write(number, f"/cliques/c/{number}", CLIQUE, {"a": number}) for number in range(3)],
        frozenset(),
    )
    assert [sorted(step.waits_for) for step in steps] == [[], [0], [1]]


def test_a_uid_that_nobody_creates_is_left_as_it_is() -> None:
    (step,) = plan([write(1, "/a", CLIQUE, owned_by(POD))], frozenset())
    assert json.loads(step.body({})) == owned_by(POD)


def test_versions_of_the_old_cluster_are_left_out_and_create_only_stays() -> None:
    steps = plan(
        [
            write(1, "/a", CLIQUE, {"metadata": {"name": "a", "resourceVersion": "1"}}),
            write(2, "/b", POD, {"metadata": {"name": "b", "resourceVersion": "4711"}}),
        ],
        frozenset(),
    )
    bodies = [json.loads(step.body({}))["metadata"] for step in steps]
    assert bodies == [{"name": "a", "resourceVersion": "1"}, {"name": "b"}]


def test_an_object_whose_name_has_a_uid_gets_the_name_that_it_would_have_now() -> None:
    steps = plan(
        [
            write(1, "/gangs/g", CLIQUE, {}),
            write(2, f"/groups/g-{CLIQUE}?force=true", POD, {"metadata": {"name": f"g-{CLIQUE}"}}),
        ],
        frozenset(),
    )
    assert sorted(steps[1].waits_for) == [0]
    assert steps[1].target({CLIQUE: "new"}) == "/groups/g-new?force=true"
    assert json.loads(steps[1].body({CLIQUE: "new"})) == {"metadata": {"name": "g-new"}}


def test_a_write_waits_for_an_object_that_it_names_by_such_a_name() -> None:
    name = f"g-{CLIQUE}"
    steps = plan(
        [
            write(1, "/gangs/g", CLIQUE, {}),
            write(2, f"/workloads/{name}", "workload", {}),
            write(3, f"/groups/{name}", "group", {"spec": {"workload": name}}),
            write(4, "/pods", POD, {"spec": {"group": name}}),
            write(5, "/other", SET, {"spec": {"group": f"another-{CLIQUE}"}}),
        ],
        frozenset(),
    )
    assert [sorted(step.waits_for) for step in steps] == [[], [0], [0, 1], [0, 1, 2], [0]]
