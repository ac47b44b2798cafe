"""`python -m all_in_one --core FILE --backend NAME=FILE ...`: the supervisor.

Exit codes: 0 after a signal to stop, 2 with one line if the settings are invalid, otherwise that of
the program that exited first. The programs write to the supervisor's output.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry

from all_in_one import children
from all_in_one.health import Health
from all_in_one.supervisor import supervise
from shared_api.runtime import logs
from shared_api.runtime.configuration import SettingsError, version
from shared_api.runtime.manager import stop_signals
from shared_api.runtime.serving.server import Address, Server


def main(arguments: list[str] | None = None) -> int:
    """Run until a signal or until a program exits; return the exit code."""
    options = _parser().parse_args(arguments)
    logs.configure()
    try:
        chosen = [
            children.core(options.core, options.host),
            *(children.backend(name, file, options.host) for name, file in options.backend),
        ]
        children.check(chosen, options.port)
    except SettingsError as error:
        sys.stderr.write(f"all_in_one: {error}\n")
        return 2
    return asyncio.run(_run(chosen, Address(options.host, options.port)))


async def _run(chosen: Sequence[children.Child], address: Address) -> int:
    health, stopping = Health(chosen), asyncio.Event()
    # The registry is empty: each program serves its own metrics.
    server = Server(address, CollectorRegistry(), live=health.live(), ready=health.ready())
    async with server, asyncio.TaskGroup() as group:
        with stop_signals(stopping.set):
            watching = group.create_task(health.watch())
            code = await supervise(chosen, stopping)
            watching.cancel()
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m all_in_one", description=__doc__)
    parser.add_argument("--version", action="version", version=version())
    parser.add_argument("--core", type=Path, required=True, help="settings of core")
    parser.add_argument(
        "--backend",
        type=_named_file,
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a backend and its settings; may be repeated",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address that all programs listen on")
    parser.add_argument(
        "--port", type=int, default=8090, help="port of the supervisor's /livez and /readyz"
    )
    return parser


def _named_file(text: str) -> tuple[str, Path]:
    name, given, file = text.partition("=")
    if not name or not given or not file:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE")
    return name, Path(file)


if __name__ == "__main__":
    sys.exit(main())
