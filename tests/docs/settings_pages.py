"""The reference pages of the settings of core and of the backends, generated from their models.

`python -m tests.docs.settings_pages` writes both pages. With `--check` it writes nothing and fails
if a page is stale.
"""

import sys
from collections.abc import Iterator
from enum import EnumType
from pathlib import Path

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from backend_controllers import registry
from backend_controllers.settings import BackendSettings
from core_operator.settings import CoreSettings
from tests.docs.pages import write_or_check

_REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
CORE_PAGE = _REFERENCE / "settings.md"
BACKEND_PAGE = _REFERENCE / "backend-settings.md"
_OPTIONS = "options"
_LIMITS = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}

_CORE_HEAD = """\
# Settings of the core operator

One YAML file, named by `--config`. Every setting has a default, unknown keys are refused, and a
wrong value ends the start with one line that names its path. This page is generated from the
model in `core_operator/settings.py`.

"""

_BACKEND_HEAD = """\
# Settings of the backend controllers

One YAML file for each backend, named by `--config`. Every setting has a default, unknown keys are
refused, and a wrong value ends the start with one line that names its path. What only one backend
knows is under `options`. This page is generated from the models in
`backend_controllers/settings.py` and in each backend.

"""


def render_core() -> str:
    """Return the page of the core operator."""
    return _CORE_HEAD + "\n".join(_sections(CoreSettings)) + "\n" + _defaults(CoreSettings)


def render_backends() -> str:
    """Return the page of the backend controllers."""
    lines = (*_sections(BackendSettings), *_options())
    return _BACKEND_HEAD + "\n".join(lines) + "\n" + _defaults(BackendSettings)


def _sections(settings: type[BaseModel]) -> Iterator[str]:
    for name, section in settings.model_fields.items():
        if name == _OPTIONS:
            continue
        model = section.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        yield f"## {section.alias or name}\n\n{_text(section)}\n"
        yield from _table(model)


def _options() -> Iterator[str]:
    for name in registry.MODULES:
        model = registry.find(name).options
        yield f"## options of `{name}`\n"
        if model.model_fields:
            yield from _table(model)
        else:
            yield "None.\n"


def _table(model: type[BaseModel]) -> Iterator[str]:
    yield "| setting | default | meaning |\n|---|---|---|"
    defaults = model().model_dump(mode="json", by_alias=True)
    for key, field in model.model_fields.items():
        name = field.alias or key
        default = yaml.safe_dump(defaults[name], default_flow_style=True).split("\n")[0]
        yield f"| `{name}` | `{default}` | {_text(field)}{_bounds(field)} |"
    yield ""


def _text(field: FieldInfo) -> str:
    return " ".join((field.description or "").split())


def _bounds(field: FieldInfo) -> str:
    """The range of a number, or the values of an enumeration."""
    if values := _values(field):
        return f" One of {', '.join(f'`{value}`' for value in values)}."
    found = {
        name: text.format(f"{bound:g}")
        for limit in field.metadata
        for name, text in _LIMITS.items()
        if (bound := getattr(limit, name, None)) is not None
    }
    return f" {', '.join(found.values())}.".replace(" a", " A", 1) if found else ""


def _values(field: FieldInfo) -> list[str]:
    if isinstance(field.annotation, EnumType):
        return [str(member.value) for member in field.annotation]
    return [value for value in getattr(field.annotation, "__args__", ()) if isinstance(value, str)]


def _defaults(settings: type[BaseModel]) -> str:
    defaults = settings().model_dump(mode="json", by_alias=True)
    return f"## All defaults\n\n```yaml\n{yaml.safe_dump(defaults, sort_keys=False)}```\n"


def main() -> int:
    """Write or check both pages; return the exit code."""
    pages = ((CORE_PAGE, render_core()), (BACKEND_PAGE, render_backends()))
    return max(
        write_or_check(page, content, "tests.docs.settings_pages") for page, content in pages
    )


if __name__ == "__main__":
    sys.exit(main())
