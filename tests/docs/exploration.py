"""All dialects that a backend can choose, found by answering its questions in every way.

`detect` asks what the cluster serves: kinds, fields, probes. Here it is asked again and again
with other answers, until every path through it was taken. So nothing has to be listed by hand,
and a backend that is registered tomorrow is covered.
"""

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from backend_controllers.contract.declaration import Backend, Dialect, Options, Served
from shared_api.kube.resources import Resource

_MOST_PATHS = 20_000


@dataclass(frozen=True, slots=True)
class Answered:
    """A dialect, and which answers led to it."""

    dialect: Dialect
    answers: dict[str, bool]


class _Asked:
    """What stands in for the cluster: it answers as it is told, else with yes."""

    kubernetes = ""
    resources = frozenset[tuple[str, str, str]]()

    def __init__(self, told: dict[str, bool]) -> None:
        self.answers: dict[str, bool] = {}
        self._told = told
        self.schemas: dict[tuple[str, str, str], object] = {}
        self.kept = _Kept(self._answer)
        self.services = _Kept(lambda name: self._answer(f"Service {name}"))

    def has(self, resource: Resource) -> bool:
        return self._answer(f"{resource.plural}.{resource.group}/{resource.version}")

    def has_field(self, resource: Resource, *path: str) -> bool:
        return self._answer(f"{resource.plural} {'.'.join(path)}")

    def schema_of(self, resource: Resource, *path: str) -> None:
        """No schema is known beyond whether it has a field."""

    def _answer(self, question: str) -> bool:
        return self.answers.setdefault(question, self._told.get(question, True))


class _Kept:
    def __init__(self, answer: Callable[[str], bool]) -> None:
        self._answer = answer

    def __contains__(self, probe: object) -> bool:
        return self._answer(str(probe))


def dialects(backend: Backend, options: Options) -> Iterator[Answered]:
    """Every dialect with every way that leads to it; those that are absent are left out."""
    paths: list[dict[str, bool]] = [{}]
    for _ in range(_MOST_PATHS):
        if not paths:
            return
        told = paths.pop()
        asked = _Asked(told)
        found = backend.detect(cast("Served", asked), options)
        if isinstance(found, Dialect):
            yield Answered(found, asked.answers)
        before = dict(told)
        for question, answer in asked.answers.items():
            if question not in told:
                paths.append({**before, question: not answer})
                before[question] = answer
    raise AssertionError(f"{backend.name} asks too much: more than {_MOST_PATHS} paths")


def choices(backend: Backend) -> Iterator[tuple[str, Options]]:
    """The default options, and each with one word of theirs changed."""
    default = backend.options()
    yield "", default
    for name, field in backend.options.model_fields.items():
        words = field.annotation
        if isinstance(words, type) and issubclass(words, enum.Enum):
            for word in words:
                if word is not getattr(default, name):
                    chosen = default.model_copy(update={name: word})
                    yield f"{field.alias or name}: {word.value}", chosen
