"""The projection of a CustomResourceDefinition: which versions are served, with which schemas.

A version counts as served once the definition is Established; before that a watch would fail.
Schemas are kept whole: backends look for fields that only some releases of a scheduler have.
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
    """A CustomResourceDefinition, as far as it decides what is served."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def is_served(self) -> bool:
        """Tell whether the definition is Established and not being deleted."""
        accepted = any(
            condition.type == _ESTABLISHED and condition.status == "True"
            for condition in self.status.conditions or ()
        )
        return accepted and not self.metadata.is_terminating

    def serves_the_same(self, other: "Definition") -> bool:
        """Tell whether two versions of a definition serve the same."""
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
