"""What a user wrote comes back as written: every sample, and any pod spec whatever."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shared_api.models import (
    ClusterTopologyBinding,
    KubeObject,
    PodCliqueSet,
    PodGang,
    PodGangPhase,
    PodGangStatus,
    SchedulerBackend,
)
from tests.contract.manifests import Manifest, clique, pod_clique_set, pod_gang
from tests.contract.schemas import SAMPLES

MODELS: dict[str, type[KubeObject]] = {
    m.KIND: m for m in (PodCliqueSet, ClusterTopologyBinding, SchedulerBackend, PodGang)
}
FILES = {path.stem: path for path in SAMPLES.glob("*/*.yaml")}


def sent(manifest: Manifest) -> bytes:
    return json.dumps(manifest).encode()


@pytest.mark.parametrize("name", sorted(FILES.keys() - {"external-gpu"}))
def test_a_sample_comes_back_as_written(name: str) -> None:
    manifest: Manifest = yaml.safe_load(FILES[name].read_text())
    read = MODELS[manifest["kind"]].parse(sent(manifest))
    assert read.manifest() == manifest
    assert read.manifest().keys() >= {"apiVersion", "kind"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_values, max_size=6))
def test_a_pod_spec_keeps_values_nulls_unknown_fields_and_order(spec: dict[str, Any]) -> None:
    manifest = pod_clique_set(clique("a", podSpec=spec))
    read = PodCliqueSet.parse(sent(manifest))
    (only,) = read.spec.template.cliques
    assert json.dumps(only.spec.pod_spec) == json.dumps(spec)
    written: Any = read.manifest()["spec"]
    assert json.dumps(written["template"]["cliques"][0]["spec"]["podSpec"]) == json.dumps(spec)


def test_only_fields_that_were_set_are_written() -> None:
    status = PodGangStatus(phase=PodGangPhase.RUNNING)
    assert status.manifest() == {"phase": "Running"}
    assert PodGangStatus().manifest() == {}


def test_a_field_of_a_newer_version_does_not_stop_an_older_reader() -> None:
    manifest = pod_gang("a")
    manifest["spec"]["laterAddition"] = {"x": 1}
    assert PodGang.parse(sent(manifest)).spec.podgroups[0].name == "a"


def test_an_empty_patch_is_not_an_absent_one() -> None:
    backend: Manifest = yaml.safe_load(FILES["default"].read_text())
    backend["spec"]["preparation"]["surplus"] = {}
    read = SchedulerBackend.parse(sent(backend))
    assert read.spec.preparation.surplus is not None
    assert read.spec.preparation.surplus.manifest() == {}
    kai: Manifest = yaml.safe_load(FILES["kai"].read_text())
    assert SchedulerBackend.parse(sent(kai)).spec.preparation.surplus is None
