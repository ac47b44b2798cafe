"""What a RemoteGang gets from its PodGang."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from backend_controllers.contract.remote.api import RemoteClique
from backend_controllers.contract.remote.translation import RemoteTranslator
from shared_api.kube.podgangs import ObservedPodGang

CONTAINER = {"name": "main", "image": "host", "command": ["true"]}


def gang(annotations: dict[str, str] | None = None, **spec: Any) -> ObservedPodGang:
    group = {"name": "w", "podReferences": [{"namespace": "team", "name": "a"}], "minReplicas": 1}
    metadata = {"name": "train-0", "namespace": "team", "annotations": annotations or {}}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"podgroups": [group], **spec}}, ObservedPodGang
    )


def translation(of: ObservedPodGang, *, has_reservations: bool = True) -> Any:
    clique = msgspec.convert({"spec": {"podSpec": {"containers": [CONTAINER]}}}, RemoteClique)
    pod = SimpleNamespace(metadata=SimpleNamespace(name="a"), index=0)
    facts: Any = SimpleNamespace(
        pods=(pod,), get=lambda *_: clique, owned=lambda _: (), all=lambda _: ()
    )
    translator = RemoteTranslator("Slurm", 300, has_reservations=has_reservations)
    return translator.translate(of, facts)


def spec(found: Any) -> dict[str, Any]:
    (rendered,) = found.objects
    return dict(rendered.manifest["spec"])


@pytest.mark.parametrize(("text", "seconds"), [("1h30m", 5400), ("500ms", 1)])
def test_longest_runtime_is_written_in_seconds(text: str, seconds: int) -> None:
    found = translation(gang({"grove.io/max-runtime": text}))
    assert spec(found)["maxRuntimeSeconds"] == seconds


@pytest.mark.parametrize("annotations", [{}, {"grove.io/max-runtime": "soon"}])
def test_without_a_longest_runtime_there_is_none(annotations: dict[str, str]) -> None:
    assert "maxRuntimeSeconds" not in spec(translation(gang(annotations)))


def test_reservation_of_another_gang_is_named_or_ignored_with_a_remark() -> None:
    of = gang(reuseReservationRef={"namespace": "team", "name": "old-0"})
    found = translation(of)
    assert (spec(found)["reservation"], found.remarks) == ("old-0", ())
    found = translation(of, has_reservations=False)
    assert "reservation" not in spec(found)
    assert "Slurm cannot reuse a reservation" in found.remarks[0]


def test_reservation_of_another_namespace_is_refused() -> None:
    found = translation(gang(reuseReservationRef={"namespace": "other", "name": "old-0"}))
    assert found.refusals == (
        "spec.reuseReservationRef.namespace: it must be the gang's own namespace",
    )
