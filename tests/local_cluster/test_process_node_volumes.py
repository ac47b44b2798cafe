"""The files of volumes: what they are, how they change, where they are mounted."""

import base64
from pathlib import Path
from typing import Any

import pytest

from local_cluster.process_node.environment import ContainerConfigError
from local_cluster.process_node.projection import (
    File,
    TokenSpec,
    refusals,
    token_specs,
    volume_files,
)
from local_cluster.process_node.published_files import publish
from local_cluster.process_node.tokens import Tokens
from local_cluster.process_node.volumes import Volumes
from tests.local_cluster.process_node_samples import NOON, config_map, facts, pod

MAPS = {"settings": config_map(a="1", b="2")}


def contents(volume: dict[str, Any], tokens: Any = None) -> dict[str, bytes]:
    files = volume_files(volume, facts(MAPS), tokens or {})
    return {name: file.data for name, file in files.items()}


def test_a_config_map_volume_has_all_keys_or_the_chosen_ones() -> None:
    assert contents({"configMap": {"name": "settings"}}) == {"a": b"1", "b": b"2"}
    items = [{"key": "a", "path": "deep/er"}]
    assert contents({"configMap": {"name": "settings", "items": items}}) == {"deep/er": b"1"}


def test_binary_data_and_modes() -> None:
    binary = {"binaryData": {"x": base64.b64encode(b"\xff").decode()}}
    volume = {"configMap": {"name": "b", "defaultMode": 0o400}}
    assert volume_files(volume, facts({"b": binary}), {}) == {"x": File(b"\xff", 0o400)}


def test_a_missing_config_map_is_an_error_unless_optional() -> None:
    with pytest.raises(ContainerConfigError, match='configmap "none" not found'):
        contents({"configMap": {"name": "none"}})
    with pytest.raises(ContainerConfigError, match="has no key z"):
        contents({"configMap": {"name": "settings", "items": [{"key": "z", "path": "z"}]}})
    assert contents({"configMap": {"name": "none", "optional": True}}) == {}


def test_a_projected_volume_is_the_sum_of_its_sources() -> None:
    token = {"path": "token", "audience": "me", "expirationSeconds": 700}
    labels = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
    note = {"path": "note", "fieldRef": {"fieldPath": "metadata.annotations"}}
    sources = [
        {"serviceAccountToken": token},
        {"configMap": {"name": "settings", "items": [{"key": "a", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [labels, note]}},
    ]
    volume = {"projected": {"sources": sources}}
    spec = TokenSpec("me", 700)
    assert list(token_specs(volume)) == [spec]
    assert contents(volume, {spec: "secret"}) == {
        "token": b"secret",
        "ca.crt": b"1",
        "labels": b'app="web"\ntier="front"',
        "note": b'example.com/note="a \\"b\\"\\nc"',
    }


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"volumes": [{"name": "v", "secret": {}}]}, 'volume "v": secret is not supported'),
        ({"volumes": [{"name": "v", "hostPath": {}}]}, 'volume "v": hostPath is not supported'),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {}}]}}]},
            'volume "v": secret is not supported',
        ),
        (
            {"containers": [{"name": "c", "envFrom": [{"secretRef": {}, "prefix": "x"}]}]},
            'container "c": secretRef is not supported',
        ),
        (
            {"containers": [{"name": "c", "livenessProbe": {"grpc": {}}}]},
            'container "c": grpc is not supported',
        ),
    ],
)
def test_what_a_process_cannot_have_is_refused_by_name(spec: Any, problem: str) -> None:
    assert refusals(pod(**spec)) == [problem]


def test_an_ordinary_pod_is_not_refused() -> None:
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "x"}}]
    assert refusals(pod(volumes=volumes)) == []


def listing(directory: Path) -> dict[str, str]:
    visible = [path for path in directory.iterdir() if not path.name.startswith("..")]
    return {path.name: path.read_text() for path in visible}


def test_published_files_change_together(tmp_path: Path) -> None:
    assert publish(tmp_path, {"a": File(b"1"), "b": File(b"1")})
    held = (tmp_path / "..data").resolve()
    with (tmp_path / "a").open() as reader:
        assert publish(tmp_path, {"a": File(b"2"), "c": File(b"2", 0o600)})
        assert reader.read() == "1"
    assert listing(tmp_path) == {"a": "2", "c": "2"}
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o600
    assert not held.exists()


def test_publishing_the_same_touches_nothing(tmp_path: Path) -> None:
    publish(tmp_path, {"a/b": File(b"1")})
    held = (tmp_path / "..data").resolve()
    assert not publish(tmp_path, {"a/b": File(b"1")})
    assert (tmp_path / "..data").resolve() == held
    assert (tmp_path / "a" / "b").read_text() == "1"


async def no_tokens(spec: TokenSpec) -> dict[str, Any]:
    raise AssertionError(spec)


async def test_volumes_are_mounted_into_each_containers_root(tmp_path: Path) -> None:
    volumes = Volumes(tmp_path, Tokens(no_tokens, lambda: NOON))
    described = [
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    await volumes.refresh(facts(MAPS, volumes=described))
    one = volumes.mount(
        {
            "name": "one",
            "volumeMounts": [
                {"name": "settings", "mountPath": "/desk/etc"},
                {"name": "scratch", "mountPath": "/desk"},
                {"name": "settings", "mountPath": "/a.txt", "subPath": "a"},
            ],
        }
    )
    two = volumes.mount({"name": "two", "volumeMounts": [{"name": "scratch", "mountPath": "/x"}]})
    (one / "desk" / "note").write_text("shared")
    assert (two / "x" / "note").read_text() == "shared"
    assert (one / "desk" / "etc" / "b").read_text() == "2"
    assert (one / "a.txt").read_text() == "1"
    volumes.remove()
    assert not two.exists()


async def test_a_subpath_that_a_config_map_does_not_have_is_an_error(tmp_path: Path) -> None:
    volumes = Volumes(tmp_path, Tokens(no_tokens, lambda: NOON))
    await volumes.refresh(facts(MAPS, volumes=[{"name": "s", "configMap": {"name": "settings"}}]))
    mount = {"name": "s", "mountPath": "/x", "subPath": "nope"}
    with pytest.raises(ContainerConfigError, match="has no nope"):
        volumes.mount({"name": "one", "volumeMounts": [mount]})
