"""`python -m core_operator --config FILE`: the process.

Exit codes: 0 after a signal to stop, 2 with one line if the settings or the access to the cluster
are invalid. Any other exit is a defect and has a traceback.
"""

import argparse
import sys
from pathlib import Path

import uvloop

from core_operator.app import run
from core_operator.settings import CoreSettings, SettingsError, load
from shared_api.kube.errors import ConfigError
from shared_api.runtime import logs
from shared_api.runtime.configuration import (
    add_server_arguments,
    version,
    with_server_arguments,
)


def main(arguments: list[str] | None = None) -> int:
    """Run until stopped; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m core_operator", description=__doc__)
    parser.add_argument("--version", action="version", version=version())
    parser.add_argument("--config", type=Path, help="file of settings; defaults without one")
    add_server_arguments(parser)
    options = parser.parse_args(arguments)
    try:
        settings = load(options.config) if options.config else CoreSettings()
        server = with_server_arguments(settings.server, options)
        settings = settings.model_copy(update={"server": server})
        logs.configure(settings.logging.format, settings.logging.level)
        uvloop.run(run(settings))
    except (SettingsError, ConfigError) as error:
        sys.stderr.write(f"core_operator: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
