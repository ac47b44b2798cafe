"""The settings of a backend controller: one YAML file, checked as a whole before anything starts.

Every setting has a default, so an empty file is a valid one. Unknown keys are refused, also
those among the options of the backend itself. The reference page is generated from these
models and from the options of every backend: what is said about a setting is said here.
"""

from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from pydantic import BaseModel, Field, SerializeAsAny, ValidationError

from backend_controllers.contract.declaration import Options
from shared_api.runtime.configuration import (
    Label,
    Logging,
    Section,
    ServerSettings,
    SettingsError,
    Workers,
    content_of,
    from_file,
    problems_of,
)

__all__ = ["ServerSettings", "SettingsError"]

M = TypeVar("M", bound=BaseModel)


class LeaderElection(Section):
    """Which replica works. Core counts a backend as available while this Lease is renewed."""

    namespace: Label = "grove-system"
    """Namespace of the Lease."""

    name: Label | None = None
    """Name of the Lease; `backend-` and the backend's name without one."""


class Concurrency(Section):
    """How much is done at once."""

    pod_gangs: Workers = 24
    """Gangs that are being translated and written: each takes two writes where a status takes one."""

    statuses: Workers = 16
    """Statuses of gangs that are being written."""

    requests: Workers = 16
    """Requests to the API server at the same time; watches do not count. More make a busy server no
    faster, and leave less of it for others; far away or behind slow webhooks they help."""


class Timing(Section):
    """How long things are held back."""

    gather_seconds: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Wait after the first news about a gang before its status is worked out, so that the news of a
    burst are one piece of work. While writes take longer than that, it is as long as they do, up to five
    times as long."""

    reason_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 0.1
    """Wait before another reason for the same state is written, in case it passes."""

    progress_delay_seconds: Annotated[float, Field(ge=0, le=60)] = 5.0
    """Wait before other numbers in a message are written. Other words of the scheduler are written as
    soon as another reason is, if nothing was written about the gang for this time."""

    refused_again_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Wait before an object is tried again that the server called invalid. An admission policy answers
    as a broken schema does, and nothing tells of its being mended."""

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
    return from_file(path, lambda text: parse(text, options))


def parse(text: str, options: type[Options]) -> Settings:
    """Check settings; the error names every wrong field by its path."""
    content = content_of(text)
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
        problems += problems_of(error, path)
        return None
