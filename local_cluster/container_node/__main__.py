"""`python -m local_cluster.container_node`: starts a node that runs containers, and serves it.

This process stays in the machine's namespaces. It starts the node's first process in new ones
(`local_cluster.container_node.inside`), connects both by a network link, takes over two sockets that were
made inside, and serves the API server and DNS on them. It ends when the node ends, and the node with it.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

from local_cluster.container_node import cgroups, relay
from local_cluster.container_node.addresses import Link, choose_link
from local_cluster.container_node.dns_server import DnsServer
from local_cluster.supervisor import die_with_parent

_NAMESPACES = ("--net", "--mount", "--pid", "--ipc", "--uts")
_TOLD = 4096


def main() -> int:
    """Run the node until it ends or is stopped."""
    options = _options()
    root = options.root.absolute()
    root.mkdir(exist_ok=True)
    cgroup = cgroups.cgroup_of(root.parent)
    cgroups.remove(cgroup)
    cgroups.create(cgroup)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        node = _start(options, root, cgroup, theirs)
        try:
            theirs.close()
            return asyncio.run(_serve(node, ours, options))
        finally:
            node.kill()
            node.wait()
            cgroups.remove(cgroup)


def _start(
    options: argparse.Namespace, root: Path, cgroup: str, channel: socket.socket
) -> subprocess.Popen[bytes]:
    unshare = shutil.which("unshare")
    assert unshare is not None, "it was looked for before"
    given = {
        "name": options.node_name,
        "root": str(root),
        "kubelet": str(options.kubelet),
        "kubeconfig": str(options.node_kubeconfig),
        "authority": str(options.authority),
        "cgroup": cgroup,
        "channel": channel.fileno(),
    }
    return subprocess.Popen(
        [
            *(unshare, *_NAMESPACES, "--fork", "--kill-child", "--mount-proc"),
            *(sys.executable, "-m", "local_cluster.container_node.inside", json.dumps(given)),
        ],
        pass_fds=[channel.fileno()],
        preexec_fn=die_with_parent,  # noqa: PLW1509 - there are no threads
    )


async def _serve(
    node: subprocess.Popen[bytes], channel: socket.socket, options: argparse.Namespace
) -> int:
    """Serve the node until it ends, which is an error, or a signal stops it."""
    loop = asyncio.get_running_loop()
    ended, stopped = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    channel.recv(_TOLD)  # the namespaces exist
    link = _connect(node.pid)
    channel.sendall(json.dumps({"address": link.node, "prefix": link.prefix}).encode())
    _, (api, dns), _, _ = socket.recv_fds(channel, _TOLD, 2)
    # The node's end of the channel closes when the node ends.
    loop.add_reader(channel, ended.set)
    names = DnsServer()
    await names.serve(socket.socket(fileno=dns))
    async with (
        await relay.serve(socket.socket(fileno=api), "127.0.0.1", options.api_port),
        asyncio.TaskGroup() as tasks,
    ):
        following = tasks.create_task(names.follow(options.kubeconfig))
        waits = [tasks.create_task(event.wait()) for event in (ended, stopped)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in (following, *waits):
            task.cancel()
    return 0 if stopped.is_set() else 1


def _connect(pid: int) -> Link:
    """Create the link between the machine and the network namespace of that process."""
    listing = subprocess.run(
        ["ip", "-json", "-4", "address"], capture_output=True, check=True, text=True
    )
    taken = [
        entry["local"] for device in json.loads(listing.stdout) for entry in device["addr_info"]
    ]
    link = choose_link(taken, preferred=pid)
    device = f"local{pid}"
    for arguments in (
        ("link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", str(pid)),
        ("address", "add", f"{link.machine}/{link.prefix}", "dev", device),
        ("link", "set", device, "up"),
    ):
        subprocess.run(["ip", *arguments], check=True)
    return link


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node-name", required=True)
    parser.add_argument("--root", type=Path, required=True, help="directory of the node")
    parser.add_argument("--kubelet", type=Path, required=True, help="the program")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="of the administrator")
    parser.add_argument("--node-kubeconfig", type=Path, required=True, help="of the kubelet")
    parser.add_argument("--authority", type=Path, required=True, help="CA of the cluster")
    parser.add_argument("--api-port", type=int, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
