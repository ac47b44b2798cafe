"""The programs to start: core and each backend. Pure, except that it reads their settings.

The ports of the programs come from their own settings. Two programs with the same port are refused
here, with one line, before any program starts.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared_api.runtime.configuration import (
    ServerSettings,
    SettingsError,
    content_of,
    from_file,
)

CORE = "core"


@dataclass(frozen=True, slots=True)
class Child:
    """One program to run."""

    name: str
    argv: tuple[str, ...]
    host: str
    port: int
    """Port of its probes, and of its metrics if they are not secured."""
    metrics_port: int | None = None
    """Port of its secured metrics."""


def core(settings: Path, host: str) -> Child:
    """Return the program of the core operator."""
    return _child(CORE, ("core_operator",), settings, host)


def backend(name: str, settings: Path, host: str) -> Child:
    """Return the program of a backend: of a kind, or of an instance as `NAME:KIND`."""
    instance, _, kind = name.partition(":")
    chosen = ("--backend", kind or instance, "--name", instance)
    return _child(f"backend-{instance}", ("backend_controllers", *chosen), settings, host)


def check(children: Sequence[Child], own_port: int) -> None:
    """Raise SettingsError if two programs have the same name or port."""
    names = [child.name for child in children]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(f"{name} is given twice")
    taken = {own_port: "the supervisor"}
    for child in children:
        ports = {"server.port": child.port, "server.metricsPort": child.metrics_port}
        for setting, port in ports.items():
            if port in taken:
                raise SettingsError(
                    f"{child.name} and {taken[port]} both listen on port {port}:"
                    f" give each its own in {setting} of its settings"
                )
            if port is not None:
                taken[port] = child.name


def _child(name: str, program: tuple[str, ...], settings: Path, host: str) -> Child:
    server = from_file(settings, content_of).get("server", {})
    # Only the ports are validated here. The program validates the whole file.
    server = server if isinstance(server, dict) else {"port": None}
    defaults = ServerSettings()
    port = _port(server, "port", defaults.port, settings)
    metrics = None
    if server.get("metricsCertificates"):
        metrics = _port(server, "metricsPort", defaults.metrics_port, settings)
    argv = (sys.executable, "-m", *program, "--config", str(settings), "--host", host)
    return Child(name, argv, host, port, metrics)


def _port(server: dict[str, Any], key: str, default: int, settings: Path) -> int:
    port = server.get(key, default)
    if not isinstance(port, int) or not 0 < port < 65536:
        raise SettingsError(f"{settings}: server.{key}: must be a port from 1 to 65535")
    return port
