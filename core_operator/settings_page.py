"""The reference page of the settings, generated from their model.

`python -m core_operator.settings_page FILE` writes it; a test tells when it is stale.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

import yaml
from pydantic.fields import FieldInfo

from core_operator.settings import Section, Settings

PAGE = Path("docs/reference/settings.md")

_HEAD = """\
# Settings of the core operator

One YAML file, named by `--config`. Every setting has a default, unknown keys are refused, and a
wrong value ends the start with one line that names its path. This page is generated from the
model in `core_operator/settings.py`.

"""


def render() -> str:
    """The page."""
    return _HEAD + "\n".join(_sections()) + "\n" + _whole_file()


def _sections() -> Iterator[str]:
    for name, section in Settings.model_fields.items():
        model = section.annotation
        assert isinstance(model, type)
        assert issubclass(model, Section)
        yield f"## {section.alias or name}\n\n{_text(section)}\n"
        yield "| setting | default | meaning |\n|---|---|---|"
        for key, field in model.model_fields.items():
            value = field.get_default(call_default_factory=True)
            default = yaml.safe_dump(value, default_flow_style=True).split("\n")[0]
            yield f"| `{field.alias or key}` | `{default}` | {_text(field)}{_bounds(field)} |"
        yield ""


def _text(field: FieldInfo) -> str:
    return " ".join((field.description or "").split())


def _bounds(field: FieldInfo) -> str:
    """What the model demands of a number, or which words there are."""
    words = get_args(field.annotation)
    if words and get_origin(field.annotation) is Literal:
        return f" One of {', '.join(f'`{word}`' for word in words)}."
    said = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}
    found = {
        name: text.format(f"{bound:g}")
        for limit in field.metadata
        for name, text in said.items()
        if (bound := getattr(limit, name, None)) is not None
    }
    return f" {', '.join(found.values())}.".replace(" a", " A", 1) if found else ""


def _whole_file() -> str:
    defaults = Settings().model_dump(mode="json", by_alias=True)
    return f"## All defaults\n\n```yaml\n{yaml.safe_dump(defaults, sort_keys=False)}```\n"


if __name__ == "__main__":
    Path(sys.argv[1] if sys.argv[1:] else PAGE).write_text(render())
