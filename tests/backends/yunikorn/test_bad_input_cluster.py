"""Bad input on the real YuniKorn: said clearly, and mended without anybody's help."""

import contextlib

import pytest

from backend_controllers.yunikorn.api import KEY_QUEUE
from core_operator.state.caches import SETS
from local_cluster.schedulers.yunikorn import QUEUE, SMALL_QUEUE
from shared_api.kube.codec import LooseObject
from shared_api.kube.errors import Invalid, NotFound
from shared_api.kube.resources import PODS
from tests.backends.suite.stage import SECONDS, Stage
from tests.core.kit import Object, gates

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(300)]


def _in(queue: str) -> Object:
    return {"annotations": {KEY_QUEUE: queue}}


async def test_a_queue_that_does_not_exist_is_reported_until_another_is_named(stage: Stage) -> None:
    await stage.add_nodes(2)
    await stage.create("w", {"a": 2}, **_in("root.nobody"))

    def is_told() -> bool:
        scheduled = stage.said("w-0", "Scheduled")
        text = scheduled.get("message", "")
        return scheduled.get("reason") == "ApplicationRejected" and "its queue exists" in text

    await stage.person.until(is_told, SECONDS)
    assert stage.bound("w-0") == []
    await stage.person.change(SETS, "w", {"metadata": _in(QUEUE)})
    # YuniKorn fails rejected pods, unless they change in that moment: then it leaves them alone.
    while not stage.runs("w"):
        for pod in _left_in(stage, "root.nobody"):
            with contextlib.suppress(NotFound):
                await stage.person.delete(pod, PODS)
        await stage.person.until(lambda: stage.runs("w") or _left_in(stage, "root.nobody"), SECONDS)


def _left_in(stage: Stage, queue: str) -> list[LooseObject]:
    """Pods that were let go into a queue, and that nobody has failed."""
    return [
        pod
        for pod in stage.pods("w-0")
        if pod.metadata.labels.get(KEY_QUEUE) == queue
        and not gates(pod)
        and pod.status.get("phase") == "Pending"
    ]


async def test_a_gang_that_its_queue_has_no_capacity_for_reports_it_with_the_numbers(
    stage: Stage,
) -> None:
    await stage.add_nodes(4)
    for name in ("v", "w"):
        await stage.create(name, {"a": 2}, **_in(SMALL_QUEUE))
        if name == "v":
            await stage.until_runs("v")

    def is_told() -> bool:
        scheduled = stage.said("w-0", "Scheduled")
        text = f"does not fit in queue '{SMALL_QUEUE}' (requested "
        return scheduled.get("reason") == "QueueQuotaExceeded" and text in scheduled["message"]

    await stage.person.until(is_told, SECONDS)
    assert stage.bound("w-0") == []
    await stage.delete("v")
    await stage.until_runs("w")


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        ("root.with@sign", "uses it as a label value"),
        (f"root.{'q' * 60}", "uses it as a label value"),
        ("root", "accepts no gangs itself"),
    ],
)
async def test_a_queue_that_can_be_no_label_is_refused(stage: Stage, queue: str, why: str) -> None:
    await stage.add_nodes(2)
    await stage.create("w", {"a": 2}, **_in(queue))

    def is_refused() -> bool:
        accepted = stage.said("w-0", "Accepted")
        return accepted.get("reason") == "Unsupported" and why in accepted["message"]

    await stage.person.until(is_refused, SECONDS)
    assert stage.pods("w-0") == []
    await stage.person.change(SETS, "w", {"metadata": _in(QUEUE)})
    await stage.until_runs("w")


async def test_a_clique_that_could_not_be_read_is_refused_and_harms_no_other_set(
    stage: Stage,
) -> None:
    await stage.add_nodes(2)
    unreadable = stage.clique("a", 1, podSpec={"nodeSelector": {"gpu": True}})
    with pytest.raises(Invalid, match=r"podSpec\.nodeSelector\.gpu"):
        await stage.create_of("v", [unreadable])
    await stage.create("w", {"a": 2})
    await stage.until_runs("w")


async def test_what_placeholders_ignore_is_reported_as_not_applied(stage: Stage) -> None:
    await stage.add_nodes(2)
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"grove.io/podclique": "w-0-a"}},
                }
            ]
        }
    }
    await stage.create_of("w", [stage.clique("a", 2, podSpec={"affinity": apart})])
    await stage.until_runs("w")
    message = stage.said("w-0", "Accepted")["message"]
    assert message.startswith("not applied: YuniKorn ignores podAntiAffinity of group 'w-0-a' ")


async def test_a_pod_that_asks_for_nothing_is_in_a_gang_all_the_same(stage: Stage) -> None:
    await stage.add_nodes(1)
    container = {"name": "c", "image": "i"}
    await stage.create_of("w", [stage.clique("a", 2, podSpec={"containers": [container]})])
    await stage.until_runs("w")
