"""Reads the settings of a program from one YAML file, and checks them as a whole.

Unknown keys are refused, because a misspelt setting must not be ignored silently. An error names
every wrong field by its path. Each program declares its settings in its own models; this module
has the sections that all programs share.
"""

import argparse
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

S = TypeVar("S")
Workers = Annotated[int, Field(ge=1, le=256)]
Label = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class SettingsError(Exception):
    """The settings cannot be used; the message is one line with the wrong fields."""


class Section(BaseModel):
    """A part of the file."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )


class Logging(Section):
    """What is written to standard error."""

    format: Literal["json", "human"] = "json"
    """One JSON object a line for machines, or coloured text for people."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The least severe lines that are written."""


class ServerSettings(Section):
    """Where /livez, /readyz and /metrics are served."""

    host: str = "0.0.0.0"  # noqa: S104 - probes and scrapes come from outside the pod
    """Address to listen on."""

    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """Port to listen on; 0 takes any free one."""

    metrics_certificates: str | None = None
    """Directory with `tls.crt` and `tls.key`, which are loaded again when they change. With it, /metrics is
    served by TLS only, on `metricsPort`, to callers whose bearer token the cluster allows to `get` the
    path /metrics. Needs the rights of `deploy/components/secure-metrics`."""

    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 8443
    """Port of /metrics with `metricsCertificates`; 0 takes any free one."""

    review_cache_seconds: Annotated[float, Field(gt=0, le=300)] = 30.0
    """How long the answer of the API server about a token is cached. A revoked right ends after this time."""


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that a Deployment sets: what differs by replica, and what a component adds."""
    parser.add_argument("--host", help="address to listen on, instead of server.host")
    parser.add_argument(
        "--metrics-certificates",
        metavar="DIRECTORY",
        help="directory with tls.crt and tls.key, instead of server.metricsCertificates",
    )


def with_server_arguments(server: ServerSettings, given: argparse.Namespace) -> ServerSettings:
    """Return the settings, with the options of the command line in place of theirs."""
    named = {"host": given.host, "metrics_certificates": given.metrics_certificates}
    return server.model_copy(update={key: value for key, value in named.items() if value})


def version() -> str:
    """Return the installed version of this package."""
    return metadata.version("podgang")


def from_file(path: Path, parse: Callable[[str], S]) -> S:
    """Read and check a file of settings; errors begin with its path."""
    try:
        return parse(path.read_text())
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not UTF-8 text") from error
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def content_of(text: str) -> dict[str, Any]:
    """Return the map in a file; it is empty for an empty file."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"not YAML: {' '.join(str(error).split())}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SettingsError("the file must hold a map of settings")
    return content


def problems_of(error: ValidationError, path: str = "") -> list[str]:
    """Return the problems of the settings, each with the path of its field."""
    return [_problem(details, path) for details in error.errors()]


def _problem(details: object, path: str) -> str:
    assert isinstance(details, dict)
    place = path + ".".join(str(part) for part in details["loc"])
    if details["type"] == "extra_forbidden":
        return f"{place}: there is no such setting"
    return f"{place.rstrip('.')}: {details['msg']}, not {details['input']!r}"
