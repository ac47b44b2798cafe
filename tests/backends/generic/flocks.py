"""The backend of docs/backends/writing-one.md, taken from the page, for a scheduler of any name."""

import re
import uuid
from pathlib import Path
from typing import Any

import yaml

from backend_controllers.contract.declaration import Backend
from shared_api.kube.resources import Resource

PAGE = Path(__file__).parents[3] / "docs" / "backends" / "writing-one.md"


def block(language: str) -> str:
    """The first block of the page in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


class Birds:
    """The example under a name of its own, so that tests that share a cluster do not meet."""

    def __init__(self, group: str = "birds.example.com") -> None:
        self.name = f"flock-{uuid.uuid4().hex[:6]}"
        self.group = group
        self.module: dict[str, Any] = {}
        exec(compile(self._renamed(block("python")), str(PAGE), "exec"), self.module)
        self.definition = yaml.safe_load(self._renamed(block("yaml")))

    def _renamed(self, text: str) -> str:
        named = text.replace("birds.example.com", self.group)
        return named.replace('name="flock"', f'name="{self.name}"')

    @property
    def backend(self) -> Backend:
        found = self.module["BACKEND"]
        assert isinstance(found, Backend)
        return found

    @property
    def kind(self) -> Resource:
        found = self.module["FLOCKS"]
        assert isinstance(found, Resource)
        return found
