"""The program: `python -m local_cluster.process_node --kubeconfig K --node-name NAME --root DIR`.

SIGTERM and SIGINT stop it: every pod's process gets SIGTERM, a few seconds, then SIGKILL. One
program per root directory: a second one prints that and exits with 1.
"""

import argparse
import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp

from local_cluster.api import Api
from local_cluster.process_node.addresses import Addresses
from local_cluster.process_node.agent import Agent
from local_cluster.process_node.config_maps import ConfigMaps
from local_cluster.process_node.environment import Machine
from local_cluster.process_node.events import Events
from local_cluster.process_node.kubeconfig import server_address
from local_cluster.process_node.registration import NodeRegistration
from local_cluster.process_node.services import Services


def main() -> int:
    """Run the process node until a signal."""
    parser = argparse.ArgumentParser(prog="python -m local_cluster.process_node")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--node-name", required=True)
    parser.add_argument("--root", type=Path, required=True, help="directory for pods and logs")
    parser.add_argument("--shutdown-grace", type=float, default=3.0, metavar="SECONDS")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    options.root = options.root.resolve()
    options.root.mkdir(parents=True, exist_ok=True)
    with _sole_owner(options.root) as alone:
        if not alone:
            print(f"{options.root} is in use by another process node", file=sys.stderr)
            return 1
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(_run(options))
    return 0


async def _run(options: argparse.Namespace) -> None:
    task = asyncio.current_task()
    if task is not None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Once: a second signal must not interrupt the stopping of processes.
            loop.add_signal_handler(number, lambda: task.cancelling() or task.cancel())
    async with AsyncExitStack() as stack:
        # Without a limit: each watch holds a connection for itself.
        api = await stack.enter_async_context(Api(options.kubeconfig, connections=0))
        http = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True))
        )
        services = Services(
            api=api,
            http=http,
            clock=_now,
            root=options.root,
            machine=Machine(
                # Not resolved: a virtual environment is known by the path of its interpreter.
                python=Path(sys.executable),
                path=os.environ.get("PATH", os.defpath),
                server=server_address(options.kubeconfig),
            ),
            addresses=Addresses(),
            config_maps=ConfigMaps(api),
            events=Events(api, _now, options.node_name),
            shutdown_grace=options.shutdown_grace,
        )
        registration = NodeRegistration(api, options.node_name, _now)
        await Agent(services, registration, options.node_name).run()


@contextmanager
def _sole_owner(root: Path) -> Iterator[bool]:
    with (root / "node.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _now() -> datetime:
    # The clock that everything else is given.
    return datetime.now(UTC)  # noqa: TID251


if __name__ == "__main__":
    sys.exit(main())
