"""Placements become layers of the one network that Koordinator knows, or are refused."""

import json
from typing import Any, cast

import msgspec
import pytest

from backend_controllers.contract.declaration import Translation
from backend_controllers.koordinator.api import KEY_TOPOLOGY, KEY_TOPOLOGY_SELECTOR
from backend_controllers.koordinator.installation import KoordinatorFeatures
from backend_controllers.koordinator.topology import UNREAD
from backend_controllers.koordinator.translation import translate
from shared_api.kube.podgangs import ObservedPodGang
from tests.backends.koordinator.kit import (
    RACK,
    ZONE,
    Known,
    Object,
    gang,
    installed,
    members,
    network,
    pack,
    written,
)

NET = network(ZoneLayer=ZONE, RackLayer=[RACK, "old.example.com/rack"])


def placed(
    of: ObservedPodGang, net: Any = NET, features: KoordinatorFeatures | None = None
) -> Translation:
    return translate(installed(features), of, Known(members(of), objects=net))


def strategies(translation: Translation) -> list[Object]:
    assert translation.refusals == ()
    specs = {
        cast("Any", item.manifest["metadata"])["annotations"].get(KEY_TOPOLOGY)
        for item in translation.objects
    }
    [spec] = specs
    return cast("list[Object]", json.loads(spec)["gatherStrategy"]) if spec else []


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (pack(RACK), [("RackLayer", "MustGather")]),
        (pack("old.example.com/rack"), [("RackLayer", "MustGather")]),
        (pack(preferred=RACK), [("RackLayer", "PreferGather")]),
        (pack(ZONE, RACK), [("ZoneLayer", "MustGather"), ("RackLayer", "PreferGather")]),
        (pack("kubernetes.io/hostname"), [("NodeTopologyLayer", "MustGather")]),
        (pack(), []),
    ],
)
def test_a_node_label_becomes_the_layer_that_has_it_on_every_pod_group(
    constraint: Object, expected: list[tuple[str, str]]
) -> None:
    translation = placed(gang(topologyConstraint=constraint))
    assert [tuple(each.values()) for each in strategies(translation)] == expected
    assert translation.remarks == ()


def test_members_of_a_gathered_gang_are_distinguished_from_others() -> None:
    [first, _] = placed(gang(topologyConstraint=pack(RACK))).preparations
    assert first.members is not None
    assert first.members.annotations == {KEY_TOPOLOGY_SELECTOR: "{gangUID}"}
    assert first.surplus is not None
    assert first.surplus.annotations == {}
    # Where there is no network to look at, it would bring the scheduler down.
    [first, _] = placed(gang()).preparations
    assert first.members is not None
    assert first.members.annotations == {}


@pytest.mark.parametrize(
    ("net", "features", "said"),
    [
        ({}, None, "ClusterNetworkTopology 'default' does not exist. Create it"),
        (network(ZoneLayer=ZONE), None, f"request an existing one ({ZONE})"),
        (network(), None, "request an existing one (none)"),
        (NET, KoordinatorFeatures(topology=False), "Install the CRDs of Koordinator v1.7 or newer"),
    ],
)
def test_what_the_network_lacks_refuses_what_is_required_and_leaves_out_what_is_preferred(
    net: Any, features: KoordinatorFeatures | None, said: str
) -> None:
    translation = placed(gang(topologyConstraint=pack(RACK)), net, features)
    [refusal] = translation.refusals
    assert refusal.startswith(f"the gang cannot be packed by {RACK}: ")
    assert said in refusal
    translation = placed(gang(topologyConstraint=pack(preferred=RACK)), net, features)
    assert strategies(translation) == []
    assert said in translation.remarks[0]


def test_a_network_that_nobody_has_read_is_waited_for_if_it_is_required() -> None:
    unread = network(is_read=False, RackLayer=RACK)
    of = gang(topologyConstraint=pack(RACK))
    translation = placed(of, unread)
    assert (translation.objects, translation.refusals) == ((), ())
    assert translation.awaits == UNREAD
    # Members are made as they will be needed.
    assert translation.preparations == placed(of, network(RackLayer=RACK)).preparations
    translation = placed(gang(topologyConstraint=pack(preferred=RACK)), unread)
    assert strategies(translation) == []
    assert (translation.awaits, UNREAD in translation.remarks[0]) == ("", True)


def test_a_gang_that_koordinator_knows_is_not_withdrawn_for_the_network() -> None:
    of = gang(topologyConstraint=pack(RACK))
    unread = network(is_read=False, RackLayer=RACK)
    translation = translate(installed(), of, Known(members(of), objects={**unread, **written(of)}))
    assert (len(translation.objects), translation.awaits) == (2, "")


def test_parts_of_a_gang_have_no_placement_of_their_own() -> None:
    config = {"name": "s", "podGroupNames": ["w-0-a"], "topologyConstraint": pack(RACK)}
    translation = placed(gang(topologyConstraintGroupConfigs=[config]))
    assert translation.refusals[0].startswith(f"group set 's' cannot be packed by {RACK}")
    of = msgspec.to_builtins(gang())
    of["spec"]["podgroups"][0]["topologyConstraint"] = pack(preferred=RACK)
    translation = placed(msgspec.convert(of, ObservedPodGang))
    assert strategies(translation) == []
    assert translation.remarks[0].startswith(f"group 'w-0-a' cannot be packed by {RACK}")


def test_surplus_that_may_go_elsewhere_is_reported_with_its_number() -> None:
    translation = placed(gang({"w-0-a": 1}, pods=3, topologyConstraint=pack(RACK)))
    assert f"the 2 pods above the minimum may be scheduled outside of {RACK}" in translation.remarks
