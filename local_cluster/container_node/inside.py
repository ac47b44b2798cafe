"""The first process of the node: prepares its namespaces, runs containerd and the kubelet.

It runs in namespaces of its own. It hides every directory and kernel setting of the machine that
containerd or the kubelet would change. As the first process it also collects the containers' orphaned
processes. If containerd or the kubelet ends, it ends, and the kernel ends everything else.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from local_cluster.container_node import settings
from local_cluster.container_node.addresses import API_SERVICE, DNS_SERVICE

_HIDDEN = ("/run", "/var/log", "/var/lib/kubelet", "/etc/cni")
_KERNEL_SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
"""What the kubelet wants, and would otherwise set for the whole machine."""


def main() -> int:
    """Run the node; return when one of its programs has ended."""
    given = json.loads(sys.argv[1])
    root = Path(given["root"])
    channel = socket.socket(fileno=given["channel"])
    channel.sendall(b"namespaces")
    _isolate()
    node_address = _network(channel)
    children = {
        _spawn(_containerd(root)): "containerd",
        _spawn(_kubelet(given, root, node_address)): "kubelet",
    }
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid in children:
            code = os.waitstatus_to_exitcode(status)
            sys.stderr.write(f"{children[pid]} exited with {code}\n")
            return 1


def _isolate() -> None:
    _run("mount", "--make-rshared", "/")
    for directory in _HIDDEN:
        if Path(directory).is_dir():
            _run("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", directory)
    resolver = Path("/run/resolv.conf")
    resolver.write_text(f"nameserver {DNS_SERVICE}\n")
    _run("mount", "--bind", str(resolver), "/etc/resolv.conf")
    Path("/run/kernel-settings").mkdir()
    for name, value in _KERNEL_SETTINGS.items():
        file = Path("/run/kernel-settings") / name.replace("/", "-")
        file.write_text(value)
        if Path("/proc/sys", name).exists():
            _run("mount", "--bind", str(file), f"/proc/sys/{name}")


def _network(channel: socket.socket) -> str:
    """Set up addresses, pass the sockets for API server and DNS on; return the node's address."""
    link = json.loads(channel.recv(4096))
    for arguments in (
        ("link", "set", "lo", "up"),
        ("address", "add", f"{API_SERVICE}/32", "dev", "lo"),
        ("address", "add", f"{DNS_SERVICE}/32", "dev", "lo"),
        ("address", "add", f"{link['address']}/{link['prefix']}", "dev", "eth0"),
        ("link", "set", "eth0", "up"),
    ):
        _run("ip", *arguments)
    with (
        socket.create_server((API_SERVICE, 443), backlog=256) as api,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as dns,
    ):
        dns.bind((DNS_SERVICE, 53))
        socket.send_fds(channel, [b"sockets"], [api.fileno(), dns.fileno()])
    address: str = link["address"]
    return address


def _containerd(root: Path) -> list[str]:
    (root / "cni").mkdir(exist_ok=True)
    (root / "cni" / "pods.conflist").write_text(settings.pod_network())
    config = root / "containerd.toml"
    config.write_text(settings.containerd_config(root, Path("/run"), socket_of(root)))
    return ["containerd", "--config", str(config), "--log-level", "warn"]


def _kubelet(given: dict[str, Any], root: Path, address: str) -> list[str]:
    config = root / "kubelet.yaml"
    authority = Path(given["authority"])
    config.write_text(
        settings.kubelet_config(root, Path("/run"), socket_of(root), authority, given["cgroup"])
    )
    flags = {
        "config": config,
        "kubeconfig": given["kubeconfig"],
        "root-dir": root / "kubelet",
        "cert-dir": root / "kubelet-pki",
        "hostname-override": given["name"],
        "node-ip": address,
        "node-labels": "local-cluster/node=containers",
        "v": 1,
    }
    return [given["kubelet"], *(f"--{name}={value}" for name, value in flags.items())]


def socket_of(root: Path) -> Path:
    """Return the socket of the node's containerd, which works outside of its namespaces too."""
    return root / "containerd.sock"


def _spawn(command: list[str]) -> int:
    return subprocess.Popen(command, stdin=subprocess.DEVNULL).pid


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
