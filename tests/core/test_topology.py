"""A binding that is missing, wrong, changed or gone: who waits, who is left alone, and who is told."""

from collections.abc import Callable
from typing import Any

import pytest

from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from shared_api.kube.codec import LooseObject
from tests.core.kit import (
    Object,
    Onlooker,
    clique,
    condition,
    gates,
    holds,
    pcs,
    running_operator,
)
from tests.core.stand_in import GATE, programmed
from tests.core.topology_kit import LEVELS, Bindings, asks, placing_backend, said

pytestmark = pytest.mark.cluster

UNAVAILABLE = names.CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE
SELECTED = names.CONDITION_BACKEND_SELECTED
SOON = 60
"""Seconds that a lift may take on a busy machine; it is events that are waited for."""


def workload(person: Onlooker, *cliques: Object, **template: Any) -> Object:
    """A set for the backend that is named like the namespace."""
    annotations = {names.ANNOTATION_SCHEDULER_BACKEND: person.namespace}
    return pcs("w", *(cliques or (clique("a", 2),)), annotations=annotations, **template)


def told(item: LooseObject | None, kind: str) -> tuple[str, str]:
    """Status and reason of a condition."""
    found = condition(item, kind)
    return found.get("status", ""), found.get("reason", "")


def set_says(person: Onlooker, status: str, reason: str) -> Callable[[], bool]:
    return lambda: told(person.get(SETS, "w"), UNAVAILABLE) == (status, reason)


async def until_held(person: Onlooker, status: str, reason: str, message: str) -> None:
    """The set says what is wrong, and its gang is given to nobody."""
    await person.until(set_says(person, status, reason), SOON)
    await person.until(lambda: told(person.get(GANGS, "w-0"), SELECTED) == ("False", reason), SOON)
    # Long enough for all gangs to have been looked at: also the set's summary has it.
    await person.until(lambda: told(person.get(SETS, "w"), "Stalled") == ("True", reason), SOON)
    assert condition(person.get(SETS, "w"), UNAVAILABLE)["message"] == message
    assert message[:60] in condition(person.get(SETS, "w"), "Ready")["message"]
    gang = person.one(GANGS, "w-0")
    assert names.LABEL_SCHEDULER_BACKEND not in gang.metadata.labels
    assert said(gang) == {}
    assert person.pods == []
    await person.until_event("w", reason, SOON)


async def test_what_is_required_waits_for_its_binding_and_starts_when_it_comes(
    core_cluster: Cluster, person: Onlooker, bindings: Bindings
) -> None:
    net = bindings.name("net")
    backend = placing_backend(person.client, person.namespace)
    async with backend, running_operator(core_cluster) as operator:
        await person.create(workload(person, **asks(net, "rack")))
        missing = (
            f"ClusterTopologyBinding '{net}' does not exist: create it, or change topologyName"
        )
        await until_held(person, "Unknown", "ClusterTopologyNotFound", missing)
        assert operator.metric("grove_gangs_blocked", reason="ClusterTopologyNotFound") == 1

        await bindings.create("net", {"zone": "z", "host": "h"})
        short = f"no level rack, which the set requires; ClusterTopologyBinding '{net}'"
        short += " has the levels zone, host"
        await until_held(person, "True", "ClusterTopologyLevelsUnavailable", short)

        await bindings.change("net", LEVELS)
        await person.until_ready(2, SOON)
        gang = person.one(GANGS, "w-0")
        assert said(gang) == {"gang": "required kubernetes.io/rack"}
        assert gang.metadata.annotations[names.ANNOTATION_TOPOLOGY_NAME] == net
        available = ("False", "AllClusterTopologyLevelsAvailable")
        await person.until(set_says(person, *available), SOON)
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"), SOON)
        await person.until_event("w", available[1], SOON)
        assert operator.metric("grove_gangs_blocked", reason="ClusterTopologyNotFound") == 0


async def test_a_part_that_requires_more_capacity_than_the_whole_waits(
    core_cluster: Cluster, person: Onlooker, bindings: Bindings
) -> None:
    net = bindings.name("net")
    await bindings.create("net", {"block": "b", "rack": "r"})
    async with placing_backend(person.client, person.namespace), running_operator(core_cluster):
        broad = {**clique("a", 2), **asks(net, "block")}
        await person.create(workload(person, broad, **asks(net, "rack")))
        message = "clique a requires block, broader than rack of the set;"
        message += f" ClusterTopologyBinding '{net}' has the levels block, rack"
        await until_held(person, "True", "ClusterTopologyLevelsReversed", message)
        # The order of the levels is what makes one broader than the other.
        await bindings.change("net", {"rack": "r", "block": "b"})
        await person.until_ready(2, SOON)
        assert said(person.get(GANGS, "w-0")) == {"gang": "required r", "w-0-a": "required b"}


async def test_running_gangs_are_untouched_and_new_ones_go_by_the_binding_of_their_time(
    core_cluster: Cluster, person: Onlooker, bindings: Bindings
) -> None:
    net = bindings.name("net")
    await bindings.create("net")
    async with (
        placing_backend(person.client, person.namespace),
        running_operator(core_cluster) as operator,
    ):
        await person.create(workload(person, **asks(net, "rack", "host")))
        await person.until_ready(2, SOON)
        # Released, and so complete: nothing is left to be written into it.
        before, pods = person.one(GANGS, "w-0"), {pod.metadata.uid for pod in person.pods}

        await bindings.delete("net")
        gone = ("Unknown", "ClusterTopologyNotFound")
        await person.until(set_says(person, *gone), SOON)
        # What runs goes on running, and is told so.
        await person.until(lambda: holds(person.get(SETS, "w"), "Ready"), SOON)

        await person.scale(SETS, "w", 2)
        await person.until(lambda: told(person.get(GANGS, "w-1"), SELECTED)[1] == gone[1], SOON)
        assert len(person.pods) == 2, "a new gang waits for its binding"

        await bindings.create("net", {"rack": "example.com/shelf", "host": LEVELS["host"]})
        await person.until_ready(4, SOON)
        assert said(person.get(GANGS, "w-1")) == {
            "gang": "required example.com/shelf preferred kubernetes.io/hostname"
        }
        await person.until(
            lambda: (
                condition(person.get(SETS, "w"), UNAVAILABLE).get("message")
                == f"ClusterTopologyBinding '{net}' has the levels rack, host;"
                " 1 gang keeps an earlier placement"
            ),
            SOON,
        )
        await operator.until_idle(60)
        assert_untouched(person, before, pods)


def assert_untouched(person: Onlooker, before: LooseObject, pods: set[str]) -> None:
    """The gang is the same object with the same spec, and so are its pods."""
    now = person.one(GANGS, "w-0")
    assert (now.metadata.uid, now.metadata.generation) == (
        before.metadata.uid,
        before.metadata.generation,
    )
    assert (now.spec, now.metadata.annotations, now.metadata.labels) == (
        before.spec,
        before.metadata.annotations,
        before.metadata.labels,
    )
    assert pods <= {pod.metadata.uid for pod in person.pods}


async def test_a_gang_that_is_not_released_is_recreated_for_the_levels_as_they_are_now(
    core_cluster: Cluster, person: Onlooker, bindings: Bindings
) -> None:
    net = bindings.name("net")
    await bindings.create("net", {"rack": "r1"})

    def says(gang: LooseObject) -> Object | None:
        """Programs the first gang at once; its word must not be taken for the next one."""
        return programmed(gang) if said(gang) == {"gang": "required r1"} else None

    annotation = {"example.com/gang": "{gangUID}"}
    preparation = {"mode": "Static", "members": {"annotations": annotation}}
    backend = placing_backend(person.client, person.namespace, says=says, preparation=preparation)
    async with backend as serving, running_operator(core_cluster):
        # One pod cannot be created, so that the gang is programmed and not released.
        refused = clique("b", podSpec={"serviceAccountName": "not-there"})
        await person.create(workload(person, clique("a"), refused, **asks(net, "rack")))
        await person.until(lambda: len(person.pods) == 1, SOON)
        await person.until(lambda: holds(person.get(GANGS, "w-0"), "Programmed"), SOON)
        first, pod = person.one(GANGS, "w-0").metadata.uid, person.pods[0].metadata.uid

        await bindings.change("net", {"rack": "r2"})
        await person.until(lambda: said(person.get(GANGS, "w-0")) == {"gang": "required r2"}, SOON)
        gang = person.one(GANGS, "w-0")
        assert gang.metadata.uid != first
        assert not holds(gang, "Programmed"), "the backend's word about the former gang is gone"
        await person.until_event("w", "TopologyChanged", SOON)
        await person.until(
            lambda: (
                [p.metadata.annotations["example.com/gang"] for p in person.pods]
                == [gang.metadata.uid]
            ),
            SOON,
        )
        assert [p.metadata.uid for p in person.pods] != [pod]
        assert [gates(p) for p in person.pods] == [[GATE]]

        await bindings.delete("net")
        await person.until(
            lambda: told(person.get(GANGS, "w-0"), SELECTED)[1] == "ClusterTopologyNotFound", SOON
        )
        assert names.LABEL_SCHEDULER_BACKEND not in person.one(GANGS, "w-0").metadata.labels
        serving.says = programmed
        await bindings.create("net", {"rack": "r3"})
        await person.until(lambda: said(person.get(GANGS, "w-0")) == {"gang": "required r3"}, SOON)
        await person.until(
            lambda: (
                [p.metadata.annotations["example.com/gang"] for p in person.pods]
                == [person.one(GANGS, "w-0").metadata.uid]
            ),
            SOON,
        )


async def test_a_backend_without_the_capability_is_not_given_what_is_required(
    core_cluster: Cluster, person: Onlooker, bindings: Bindings
) -> None:
    net = bindings.name("net")
    await bindings.create("net")
    limited = placing_backend(
        person.client, person.namespace, capabilities=["Gang", "TopologyRequiredGang"]
    )
    async with limited, running_operator(core_cluster):
        inner = {**clique("a", 1), **asks(net, "host")}
        await person.create(workload(person, inner, **asks(net, "rack")))
        await person.until(
            lambda: told(person.get(GANGS, "w-0"), SELECTED) == ("False", "Unsupported"), SOON
        )
        message = condition(person.get(GANGS, "w-0"), SELECTED)["message"]
        assert message == f"backend '{person.namespace}' does not support: TopologyRequiredGroup"
        # It is said whole, so that nobody can take a part for all of it.
        assert said(person.get(GANGS, "w-0")) == {
            "gang": "required kubernetes.io/rack",
            "w-0-a": "required kubernetes.io/hostname",
        }
        await person.until(lambda: len(person.pods) == 1, SOON)
        assert all(map(gates, person.pods))


async def test_preferences_never_hold_a_gang_and_are_reported_when_nobody_looks_at_them(
    core_cluster: Cluster, person: Onlooker, bindings: Bindings
) -> None:
    net = bindings.name("net")
    await bindings.create("net", {"rack": "r"})
    limited = placing_backend(
        person.client, person.namespace, capabilities=["Gang", "TopologyRequiredGang"]
    )
    async with limited, running_operator(core_cluster):
        inner = {**clique("a", 2), **asks(net, None, "host")}
        await person.create(workload(person, inner, **asks(net, "rack")))
        await person.until_ready(2, SOON)
        assert said(person.get(GANGS, "w-0")) == {"gang": "required r"}
        remark = f"backend '{person.namespace}' ignores preferences: TopologyPreferredGroup"
        await person.until(
            lambda: (
                condition(person.get(GANGS, "w-0"), SELECTED).get("message", "").endswith(remark)
            ),
            SOON,
        )
        await person.until(
            lambda: (
                condition(person.get(SETS, "w"), UNAVAILABLE).get("message")
                == "no level host, which clique a prefers;"
                f" ClusterTopologyBinding '{net}' has the levels rack; {remark}"
            ),
            SOON,
        )
        assert told(person.get(SETS, "w"), UNAVAILABLE) == (
            "True",
            "ClusterTopologyLevelsUnavailable",
        )
        await person.until_event("w", "ClusterTopologyLevelsUnavailable", SOON)


async def test_what_the_server_can_see_by_itself_is_refused_at_once(
    person: Onlooker, bindings: Bindings
) -> None:
    net = bindings.name("net")
    unnamed = {"topologyConstraint": {"pack": {"required": "rack"}}}
    other = {**clique("a"), **asks("other", "host")}
    deprecated = {"topologyConstraint": {"topologyName": net, "packDomain": "rack"}}
    empty = {"topologyConstraint": {"topologyName": net}}
    for manifest, words in (
        (workload(person, **unnamed), "topologyName is required"),
        (
            workload(person, other, **asks(net, "rack")),
            "topologyName values within a PodCliqueSet must match",
        ),
        (workload(person, **deprecated), "packDomain is deprecated"),
        (workload(person, **empty), "must specify pack"),
    ):
        assert words in await person.refusal(manifest)
