"""The container node's pure parts: addresses, DNS answers, archives, and what a machine must have."""

import asyncio
import io
import json
import socket
import struct
import tarfile
from pathlib import Path

import pytest
import yaml

from local_cluster.container_node import cgroups, machine, relay, settings
from local_cluster.container_node.addresses import choose_link
from local_cluster.container_node.archives import (
    file_of_image,
    image_id,
    write_archive,
    write_repeatable,
)
from local_cluster.container_node.dns_records import answer, records
from local_cluster.errors import ClusterError

_SLICE = {
    "metadata": {
        "namespace": "team",
        "labels": {
            "kubernetes.io/service-name": "w-0",
            "service.kubernetes.io/headless": "",
        },
    },
    "endpoints": [
        {"addresses": ["10.244.0.2"], "hostname": "w-0-a-0", "conditions": {"ready": True}},
        {"addresses": ["10.244.0.3"], "hostname": "w-0-a-1", "conditions": {"ready": True}},
        {"addresses": ["10.244.0.4"], "hostname": "w-0-a-2", "conditions": {"ready": False}},
    ],
}


def _query(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1)


def _addresses(response: bytes | None, count: int) -> list[str]:
    assert response is not None
    tail = response[-16 * count :] if count else b""
    return [socket.inet_ntoa(tail[at + 12 : at + 16]) for at in range(0, 16 * count, 16)]


def test_a_pod_is_found_by_its_host_name_and_its_service() -> None:
    known = records([_SLICE])
    response = answer(_query("W-0-a-1.w-0.team.svc.cluster.local"), known)
    assert _addresses(response, 1) == ["10.244.0.3"]
    response = answer(_query("w-0.team.svc.cluster.local"), known)
    assert _addresses(response, 2) == ["10.244.0.2", "10.244.0.3"]


def test_a_pod_that_is_not_ready_and_a_name_that_is_unknown_do_not_exist() -> None:
    known = records([_SLICE])
    for name in ("w-0-a-2.w-0.team.svc.cluster.local", "example.com"):
        response = answer(_query(name), known)
        assert response is not None
        assert response[3] & 0xF == 3


def test_a_known_name_without_ipv6_address_exists_without_answers() -> None:
    response = answer(_query("w-0.team.svc.cluster.local", kind=28), records([_SLICE]))
    assert response is not None
    assert struct.unpack(">HHHH", response[:8])[3] == 0
    assert response[3] & 0xF == 0


@pytest.mark.parametrize("noise", [b"", b"\0" * 11, b"\0" * 12, _query("a")[:-3], b"\xff" * 40])
def test_noise_is_refused_or_ignored(noise: bytes) -> None:
    answer(noise, {})


def test_links_of_different_nodes_do_not_overlap() -> None:
    first = choose_link([], preferred=5)
    second = choose_link([first.machine, "127.0.0.1"], preferred=5)
    assert {first.machine, first.node}.isdisjoint({second.machine, second.node})


def test_the_kubelet_evicts_nothing_and_takes_no_anonymous_request(tmp_path: Path) -> None:
    text = settings.kubelet_config(tmp_path, tmp_path, tmp_path / "s", tmp_path / "ca", "/group")
    config = yaml.safe_load(text)
    assert config["authentication"]["anonymous"] == {"enabled": False}
    assert config["enforceNodeAllocatable"] == []
    assert config["cgroupRoot"] == "/group"


def test_pods_have_no_route_out_of_the_node() -> None:
    (bridge, _) = json.loads(settings.pod_network())["plugins"]
    assert bridge.get("ipMasq") is None
    assert {route["dst"] for route in bridge["ipam"]["routes"]} == {"10.0.0.0/20"}


def test_the_same_files_give_the_same_archive(tmp_path: Path) -> None:
    files = [tmp_path / "a.tar", tmp_path / "b.tar"]
    for file in files:
        write_archive(file, ["x:1"], {"bin/x": b"program"}, {"bin/y": "x"}, ["/bin/x"])
    assert files[0].read_bytes() == files[1].read_bytes()
    with tarfile.open(files[0]) as archive:
        (manifest,) = json.load(archive.extractfile("manifest.json") or io.BytesIO())
    assert manifest["RepoTags"] == ["x:1"]


def test_a_machine_without_root_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match=r"needs root's rights\. Run it as root on Debian"):
        machine.require(machine.NODE_PROGRAMS, print)


def test_a_machine_without_apt_is_told_which_programs_are_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    reason = machine.why_not({"containerd": "containerd", "runc": "runc"})
    assert reason == "containerd, runc not found, and this machine has no apt-get"


def test_a_cgroup_is_created_in_every_hierarchy_and_removed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cpu", "memory"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").touch()
    monkeypatch.setattr(cgroups, "_MOUNT", tmp_path)
    cgroups.create("/node")
    (tmp_path / "cpu" / "node" / "kubepods" / "pod1").mkdir(parents=True)
    assert (tmp_path / "memory" / "node").is_dir()
    cgroups.remove("/node")
    assert not list(tmp_path.glob("*/node"))


async def test_the_relay_copies_in_both_directions_and_ends_with_either_side() -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        writer.close()

    async with await asyncio.start_server(shout, "127.0.0.1", 0) as upstream:
        port = upstream.sockets[0].getsockname()[1]
        listener = socket.create_server(("127.0.0.1", 0))
        async with await relay.serve(listener, "127.0.0.1", port):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(b"hello\n")
            assert await reader.read() == b"HELLO\n"
            writer.close()


def _saved(file: Path, written: Path, time: str) -> None:
    """Write an archive again, as an engine saves it: with times and with names of its own objects."""
    with tarfile.open(written) as archive, tarfile.open(file, "w") as saved:
        for entry in archive:
            content = archive.extractfile(entry)
            assert content is not None
            data = content.read()
            if entry.name.endswith(".json") and entry.name != "manifest.json":
                config = json.loads(data)
                config |= {"created": time, "container": time, "docker_version": "20.10"}
                config["config"] |= {"Image": time, "Hostname": time, "Labels": {"version": "1"}}
                config["history"] = [{**step, "created": time} for step in config["history"]]
                data = json.dumps(config).encode()
            entry.size, entry.mtime = len(data), hash(time) % 1000
            saved.addfile(entry, io.BytesIO(data))


def test_two_builds_of_the_same_content_give_the_same_archive(tmp_path: Path) -> None:
    written = tmp_path / "written.tar"
    write_archive(written, ["one:1"], {"bin/one": b"program"}, {"bin/two": "one"}, ["/bin/one"])
    for time in ("now", "later"):
        _saved(tmp_path / f"{time}-saved.tar", written, time)
        write_repeatable(tmp_path / f"{time}-saved.tar", tmp_path / f"{time}.tar")
    first = tmp_path / "now.tar"
    assert (tmp_path / "now-saved.tar").read_bytes() != (tmp_path / "later-saved.tar").read_bytes()
    assert first.read_bytes() == (tmp_path / "later.tar").read_bytes()
    assert image_id(first) == image_id(tmp_path / "later.tar")
    assert file_of_image(first, "bin/one") == b"program"
    with tarfile.open(first) as archive:
        (manifest,) = json.load(archive.extractfile("manifest.json") or io.BytesIO())
        config = json.load(archive.extractfile(manifest["Config"]) or io.BytesIO())
    assert manifest["RepoTags"] == ["one:1"]
    assert config["config"] == {
        "User": "65532",
        "Env": ["PATH=/bin"],
        "Cmd": ["/bin/one"],
        "Labels": {"version": "1"},
    }
