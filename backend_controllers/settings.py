"""The settings of a backend controller: one YAML file, checked as a whole before anything starts.

Every setting has a default, so an empty file is a valid one. Unknown keys are refused, also
those among the options of the backend itself. The reference page is generated from these
models and from the options of every backend: what is said about a setting is said here.
"""

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
import yaml
from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError
from pydantic.alias_generators import to_camel

from backend_controllers.contract import Options

M = TypeVar("M", bound=BaseModel)
Workers = Annotated[int, Field(ge=1, le=256)]
Label = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class SettingsError(Exception):
    """The settings cannot be used; one line says what is wrong, and where."""


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


class LeaderElection(Section):
    """Which of several replicas works. Its Lease is also by what core judges that one does."""

    enabled: bool = True
    """Off only where a single process is certain; the backend then counts as always there."""

    namespace: Label = "grove-system"
    """Namespace of the Lease."""

    name: Label | None = None
    """Name of the Lease; `backend-` and the backend's name without one."""


class Concurrency(Section):
    """How much is done at once."""

    pod_gangs: Workers = 16
    """Gangs that are being translated and written."""

    statuses: Workers = 16
    """Statuses of gangs that are being written."""


class Timing(Section):
    """How long things are held back."""

    gather_seconds: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Wait after the first news about a gang before its status is worked out, so that the news of a
    burst are one piece of work."""

    reason_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 0.1
    """Wait before another reason for the same state is written, in case it passes."""

    progress_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 5.0
    """Wait before other numbers in a message are written."""

    orphan_grace_seconds: Annotated[float, Field(ge=0, le=600)] = 5.0
    """Wait after a gang is gone before its objects are looked for."""

    gc_seconds: Annotated[float, Field(ge=0, le=3600)] = 30.0
    """Time in which the garbage collector removes the objects of a gang that was deleted; what is left
    after that is removed by the backend."""

    sweep_seconds: Annotated[float, Field(gt=0, le=86400)] = 600.0
    """Time between two looks for objects whose gang is gone."""


class Settings(Section):
    """The settings of one process."""

    logging: Logging = Field(default_factory=Logging)
    """What is written to standard error."""

    server: ServerSettings = Field(default_factory=ServerSettings)
    """Where /livez, /readyz and /metrics are served."""

    leader_election: LeaderElection = Field(default_factory=LeaderElection)
    """Which of several replicas works."""

    concurrency: Concurrency = Field(default_factory=Concurrency)
    """How much is done at once."""

    timing: Timing = Field(default_factory=Timing)
    """How long things are held back."""

    options: SerializeAsAny[Options] = Field(default_factory=Options)
    """What only this backend knows."""


def load(path: Path, options: type[Options]) -> Settings:
    """Read and check a file of settings for a backend with these options."""
    try:
        return parse(path.read_text(), options)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {_reason(error)}") from error
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def parse(text: str, options: type[Options]) -> Settings:
    """Check settings; the error names every wrong field by its path."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"not YAML: {' '.join(str(error).split())}") from error
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise SettingsError("the file must hold a map of settings")
    own = content.pop("options", None)
    problems: list[str] = []
    settings = _checked(Settings, content, "", problems)
    chosen = _checked(options, {} if own is None else own, "options.", problems)
    if settings is None or chosen is None:
        raise SettingsError("; ".join(problems))
    return settings.model_copy(update={"options": chosen})


def defaults(options: type[Options]) -> Settings:
    """The settings of a backend with these options when no file is given."""
    return parse("", options)


def _checked(model: type[M], content: object, path: str, problems: list[str]) -> M | None:
    try:
        # Strict: YAML has types already, so the text "8080" is not a port. By way of JSON, in
        # which lists and words are tuples and enumerations.
        return model.model_validate_json(msgspec.json.encode(content), strict=True)
    except ValidationError as error:
        problems += [_problem(details, path) for details in error.errors()]
        return None


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "is not UTF-8 text"


def _problem(details: object, path: str) -> str:
    assert isinstance(details, dict)
    place = path + ".".join(str(part) for part in details["loc"])
    if details["type"] == "extra_forbidden":
        return f"{place}: there is no such setting"
    return f"{place.rstrip('.')}: {details['msg']}, not {details['input']!r}"
