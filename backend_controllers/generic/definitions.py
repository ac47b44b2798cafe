"""What CustomResourceDefinitions say about the kinds that they define.

A version counts as served once the server has accepted the definition; before that, a watch
of it would only fail. Schemas are kept as they are, since backends look into them for fields
that only some releases of a scheduler have.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from shared_api.kube.metadata import Metadata
from shared_api.models import JsonObject

_ESTABLISHED = "Established"


class _Schema(msgspec.Struct, frozen=True):
    schema: dict[str, Any] = msgspec.field(default_factory=dict, name="openAPIV3Schema")


class _Version(msgspec.Struct, frozen=True):
    name: str = ""
    served: bool = False
    schema: _Schema = _Schema()


class _Names(msgspec.Struct, frozen=True):
    plural: str = ""


class _Spec(msgspec.Struct, frozen=True):
    group: str = ""
    names: _Names = _Names()
    versions: tuple[_Version, ...] = ()


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] | None = ()


class Definition(msgspec.Struct, frozen=True):
    """A CustomResourceDefinition, as far as it tells what is served."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def is_served(self) -> bool:
        """Tell whether the server has accepted it and it is there to stay."""
        accepted = any(
            condition.type == _ESTABLISHED and condition.status == "True"
            for condition in self.status.conditions or ()
        )
        return accepted and not self.metadata.is_terminating

    def says_the_same(self, other: "Definition") -> bool:
        """Tell whether two states of it serve the same."""
        return self.spec == other.spec and self.is_served == other.is_served


def schemas(definitions: Iterable[Definition]) -> dict[tuple[str, str, str], JsonObject]:
    """The schemas of everything that the definitions serve, by group, version and plural."""
    return {
        (found.spec.group, version.name, found.spec.names.plural): version.schema.schema
        for found in definitions
        if found.is_served
        for version in found.spec.versions
        if version.served
    }
