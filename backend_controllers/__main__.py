"""`python -m backend_controllers --backend KIND [--name NAME] [--config FILE]`: the process.

Exit codes: 0 after a signal to stop, 2 with one line if the settings or the access to the cluster
cannot be used. Every other exit is a defect and has a traceback.
"""

import argparse
import re
import sys
from pathlib import Path

import uvloop

from backend_controllers import registry
from backend_controllers.generic.process import run
from backend_controllers.remote.assembly import extend
from backend_controllers.settings import SettingsError, defaults, load
from shared_api.kube.errors import ConfigError
from shared_api.runtime import logs
from shared_api.runtime.configuration import (
    add_server_arguments,
    version,
    with_server_arguments,
)

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,53}[a-z0-9])?")


def main(arguments: list[str] | None = None) -> int:
    """Run until stopped; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m backend_controllers", description=__doc__)
    parser.add_argument("--version", action="version", version=version())
    parser.add_argument(
        "--backend", required=True, choices=sorted(registry.MODULES), help="kind of the backend"
    )
    parser.add_argument(
        "--name",
        type=_instance_name,
        help="name of this instance: of its record, its Lease and its label; default: the kind",
    )
    parser.add_argument("--config", type=Path, help="settings file; without one the defaults apply")
    add_server_arguments(parser)
    chosen = parser.parse_args(arguments)
    try:
        backend = registry.find(chosen.backend).instance(chosen.name or chosen.backend)
        settings = (
            load(chosen.config, backend.options) if chosen.config else defaults(backend.options)
        )
        server = with_server_arguments(settings.server, chosen)
        settings = settings.model_copy(update={"server": server})
        logs.configure(settings.logging.format, settings.logging.level)
        uvloop.run(run(backend, settings, extend=extend))
    except (SettingsError, ConfigError) as error:
        sys.stderr.write(f"backend_controllers: {error}\n")
        return 2
    return 0


def _instance_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        # `backend-` and the name are the value of a label.
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a name of at most 55 lower-case letters, digits and '-'"
        )
    return text


if __name__ == "__main__":
    sys.exit(main())
