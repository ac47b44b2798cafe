"""The reference page of the settings, generated from their model and from every backend's options.

`python -m backend_controllers.settings_page FILE` writes it; a test tells when it is stale.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from backend_controllers import registry
from backend_controllers.settings import Settings

PAGE = Path("docs/reference/backend-settings.md")
_OPTIONS = "options"

_HEAD = """\
# Settings of the backend controllers

One YAML file for each backend, named by `--config`. Every setting has a default, unknown keys are
refused, and a wrong value ends the start with one line that names its path. What only one backend
knows is under `options`. This page is generated from the models in
`backend_controllers/settings.py` and in each backend.

"""


def render() -> str:
    """The page."""
    return _HEAD + "\n".join((*_sections(), *_options())) + "\n" + _whole_file()


def _sections() -> Iterator[str]:
    for name, section in Settings.model_fields.items():
        model = section.annotation
        if name == _OPTIONS or not isinstance(model, type):
            continue
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
        default = yaml.safe_dump(defaults[field.alias or key], default_flow_style=True)
        shown = default.split("\n", maxsplit=1)[0]
        yield f"| `{field.alias or key}` | `{shown}` | {_text(field)}{_bounds(field)} |"
    yield ""


def _text(field: FieldInfo) -> str:
    return " ".join((field.description or "").split())


def _bounds(field: FieldInfo) -> str:
    """What the model demands of a number, or which words there are."""
    words = getattr(field.annotation, "__members__", ())
    listed = [member.value for member in words.values()] if words else _literals(field)
    if listed:
        return f" One of {', '.join(f'`{word}`' for word in listed)}."
    said = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}
    found = {
        name: text.format(f"{bound:g}")
        for limit in field.metadata
        for name, text in said.items()
        if (bound := getattr(limit, name, None)) is not None
    }
    return f" {', '.join(found.values())}.".replace(" a", " A", 1) if found else ""


def _literals(field: FieldInfo) -> list[str]:
    return [word for word in getattr(field.annotation, "__args__", ()) if isinstance(word, str)]


def _whole_file() -> str:
    defaults = Settings().model_dump(mode="json", by_alias=True)
    return f"## All defaults\n\n```yaml\n{yaml.safe_dump(defaults, sort_keys=False)}```\n"


if __name__ == "__main__":
    Path(sys.argv[1] if sys.argv[1:] else PAGE).write_text(render())
