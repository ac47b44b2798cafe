"""What a pod asks for, as schedulers count it."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest

from shared_api.kube.pod_resources import NoQuantityError, PodResources, requests_of


def container(cpu: str = "", *, limit: str = "", stays: bool = False) -> dict[str, Any]:
    resources = {
        **({"requests": {"cpu": cpu}} if cpu else {}),
        **({"limits": {"cpu": limit}} if limit else {}),
    }
    policy = {"restartPolicy": "Always"} if stays else {}
    return {"name": "c", "image": "i", "resources": resources, **policy}


def cpu_of(containers: list[Any], init: tuple[Any, ...] = (), **more: Any) -> Fraction:
    body = {"containers": containers, "initContainers": list(init), **more}
    return requests_of(msgspec.convert(body, PodResources)).get("cpu", Fraction(0))


@pytest.mark.parametrize(
    ("containers", "init", "more", "cpu"),
    [
        ([container("1"), container("500m")], (), {}, Fraction(3, 2)),
        ([container()], (), {}, 0),
        # The API server makes a limit a request where there is none.
        ([container(limit="2"), container("1", limit="4")], (), {}, 3),
        ([container("1")], (container("3"), container("2")), {}, 3),
        ([container("4")], (container("3"),), {}, 4),
        # One that goes on running counts with the containers, and with init containers after it.
        ([container("1")], (container("2", stays=True),), {}, 3),
        ([container("1")], (container("2", stays=True), container("4")), {}, 6),
        ([container("1")], (container("4"), container("2", stays=True)), {}, 4),
        ([container("1")], (), {"overhead": {"cpu": "250m"}}, Fraction(5, 4)),
        ([container("1")], (), {"resources": {"requests": {"cpu": "8"}}}, 8),
    ],
)
def test_pods_ask_for_what_they_need_at_most(
    containers: list[Any], init: tuple[Any, ...], more: dict[str, Any], cpu: Fraction
) -> None:
    assert cpu_of(containers, init, **more) == cpu


@pytest.mark.parametrize("text", ["lots", "-1"])
def test_what_is_no_quantity_is_reported(text: str) -> None:
    with pytest.raises(NoQuantityError, match="container 'c' asks for cpu"):
        cpu_of([container(text)])
