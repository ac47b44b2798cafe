"""What a pod asks for, counted as schedulers count it, and never too little."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_controllers.yunikorn.api import YunikornClique
from backend_controllers.yunikorn.pod_resources import requests_of
from shared_api.kube.pod_resources import NoQuantityError
from shared_api.kube.quantities import parsed
from tests.backends.yunikorn.kit import Object, clique, container


def requested(template: Object, **spec: Any) -> dict[str, str]:
    _, found = clique(template=template, **spec)
    assert isinstance(found, YunikornClique)
    return requests_of(found)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ({"containers": [container()]}, {}),
        (
            {"containers": [container(requests={"cpu": "500m"}), container(requests={"cpu": 1})]},
            {"cpu": "1500m"},
        ),
        # A limit is a request where there is none.
        (
            {"containers": [container(requests={"cpu": "1"}, limits={"cpu": "4", "x.io/gpu": 2})]},
            {"cpu": "1", "x.io/gpu": "2"},
        ),
        # The largest init container counts if it is more.
        (
            {
                "containers": [container(requests={"cpu": "1", "memory": "1Gi"})],
                "initContainers": [
                    container(requests={"cpu": "3"}),
                    container(requests={"memory": "512Mi"}),
                ],
            },
            {"cpu": "3", "memory": str(2**30)},
        ),
        # One that stays counts with the containers, and with what starts after it.
        (
            {
                "containers": [container(requests={"cpu": "1"})],
                "initContainers": [
                    container(requests={"cpu": "1"}, restartPolicy="Always"),
                    container(requests={"cpu": "2"}),
                ],
            },
            {"cpu": "3"},
        ),
        (
            {
                "containers": [container(requests={"cpu": "1", "x.io/gpu": "1"})],
                "resources": {"requests": {"cpu": "2"}},
                "overhead": {"cpu": "250m", "memory": "64Mi"},
            },
            {"cpu": "2250m", "memory": str(64 * 2**20), "x.io/gpu": "1"},
        ),
    ],
)
def test_a_pod_asks_for_all_that_its_scheduler_will_count(
    template: Object, expected: dict[str, str]
) -> None:
    assert requested(template) == expected


def test_a_pod_that_starts_after_others_has_the_init_container_of_core_too() -> None:
    gpu = {"containers": [container(requests={"x.io/gpu": "1"})]}
    assert requested(gpu) == {"x.io/gpu": "1"}
    waiting = requested(gpu, startsAfter=["web-0-b"])
    assert waiting == {"x.io/gpu": "1", "cpu": "100m", "memory": str(32 * 2**20)}
    nothing = {"containers": [container()]}
    assert requested(nothing, startsAfter=["web-0-b"]) == {}


@pytest.mark.parametrize("amount", ["lots", "-1"])
def test_what_is_no_quantity_is_reported_with_its_place(amount: str) -> None:
    template = {"containers": [container("engine", requests={"cpu": amount})]}
    with pytest.raises(NoQuantityError, match=f"container 'engine' asks for cpu '{amount}'"):
        requested(template)


amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "x.io/gpu"]), st.integers(0, 4000).map(lambda n: f"{n}m")
)


@given(
    st.lists(amounts, min_size=1, max_size=3),
    st.lists(st.tuples(amounts, st.booleans()), max_size=3),
)
def test_no_container_ever_asks_for_more_than_its_pod(
    running: list[dict[str, str]], starting: list[tuple[dict[str, str], bool]]
) -> None:
    template = {
        "containers": [container(requests=dict(asked)) for asked in running],
        "initContainers": [
            container(requests=dict(asked), restartPolicy="Always" if stays else "")
            for asked, stays in starting
        ],
    }
    whole = {name: parsed(text) for name, text in requested(template).items()}
    for asked in (*running, *(asked for asked, _ in starting)):
        for name, text in asked.items():
            own, of_pod = parsed(text), whole[name]
            assert own is not None
            assert of_pod is not None
            assert own <= of_pod
    assert msgspec.json.encode(requested(template))
