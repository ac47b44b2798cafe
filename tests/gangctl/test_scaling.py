"""Which objects `scale` changes for a name in the template."""

from typing import Any

import pytest

from gangctl.rendering import plain
from gangctl.reports.scaling import ScaledObject, ScaleError, scale_plan, scale_view
from gangctl.snapshot import Snapshot
from shared_api.kube.codec import LooseObject
from tests.gangctl.scene import NOW, made, metadata

TEMPLATE = {
    "cliques": [{"name": "a"}, {"name": "b"}],
    "podCliqueScalingGroups": [{"name": "sg", "cliqueNames": ["b"]}],
}
SET = made(LooseObject, metadata=metadata("w"), spec={"replicas": 2, "template": TEMPLATE})


def child(name: str, index: int, replicas: int) -> Any:
    labels = {
        "app.kubernetes.io/part-of": "w",
        "grove.io/podcliqueset-replica-index": str(index),
    }
    return made(LooseObject, metadata=metadata(name, labels=labels), spec={"replicas": replicas})


HPA = made(
    LooseObject,
    metadata=metadata("w-0-sg"),
    spec={"scaleTargetRef": {"kind": "PodCliqueScalingGroup", "name": "w-0-sg"}},
)
LIVE = Snapshot(
    NOW,
    sets=[SET],
    cliques=[child("w-0-a", 0, 2), child("w-1-a", 1, 3), child("w-0-sg-0-b", 0, 1)],
    groups=[child("w-0-sg", 0, 1), child("w-1-sg", 1, 1)],
    hpas=[HPA],
)


def scaled(replicas: int = 4, **options: Any) -> tuple[ScaledObject, ...]:
    return scale_plan(LIVE, SET, replicas, **options).objects


def test_without_a_name_the_set_is_scaled() -> None:
    assert scaled() == (ScaledObject("PodCliqueSet", "w", 2, 4),)


def test_a_clique_is_scaled_in_every_replica_of_the_set_or_in_one() -> None:
    assert [(o.name, o.before) for o in scaled(clique="a")] == [("w-0-a", 2), ("w-1-a", 3)]
    assert [o.name for o in scaled(clique="a", replica=1)] == ["w-1-a"]


def test_a_group_names_the_autoscaler_that_scales_it_too() -> None:
    report = scale_plan(LIVE, SET, 4, group="sg")
    assert [(o.name, o.autoscaler) for o in report.objects] == [
        ("w-0-sg", "w-0-sg"),
        ("w-1-sg", ""),
    ]
    assert "HorizontalPodAutoscaler w-0-sg scales w-0-sg too" in plain(scale_view(report))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clique": "b"}, "belongs to scaling group sg and is scaled with it: use --group sg"),
        ({"clique": "x"}, "No clique x. Cliques: a, b"),
        ({"group": "x"}, "No scaling group x. Scaling groups: sg"),
        ({"clique": "a", "replica": 5}, "has no PodClique for a in replica 5 yet"),
        ({"clique": "a", "group": "sg"}, "not both"),
        ({"replica": 1}, "only with --clique or --group"),
    ],
)
def test_what_cannot_be_scaled_names_what_can(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScaleError, match=message):
        scaled(**options)
