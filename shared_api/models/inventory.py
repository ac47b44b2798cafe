"""BackendInventory: which machines one backend instance has, by shape and not one by one.

A backend publishes one object with its own name. Core reads it to pass over an instance that has no
machine large enough for a pod. Where an instance publishes nothing, nothing is known.
"""

from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from shared_api import names
from shared_api.models.compute import ComputeResource, NodeLocation, Price
from shared_api.models.meta import KubeModel, KubeObject
from shared_api.models.schema import Int32, list_atomic

MAX_ROWS = 100
"""Rows of one inventory; further shapes are counted only."""

_Count = Annotated[Int32, Field(ge=0)]


class InventoryRow(KubeModel):
    """Machines that are alike."""

    shape: ComputeResource
    """What each of them has for pods."""

    total: _Count
    """How many there are."""

    free: _Count | None = None
    """How many are unused. Absent: unknown; inside a cluster only the scheduler knows."""

    location: NodeLocation | None = None
    """Where they are."""

    price: Price | None = None
    """What they cost, where that differs from the price of the instance."""


class BackendInventorySpec(KubeModel):
    """The machines of one backend instance."""

    observed_at: datetime
    """When the rows last changed."""

    rows: Annotated[tuple[InventoryRow, ...], list_atomic(at_most=MAX_ROWS)] = ()
    """Machines by shape and location, the most frequent first."""

    omitted: _Count | None = None
    """How many further shapes were left out because there are too many."""


class BackendInventory(KubeObject):
    """The machines of the backend instance of the same name."""

    API_VERSION: ClassVar = f"{names.GROVE_GROUP}/{names.VERSION}"
    KIND: ClassVar = "BackendInventory"

    spec: BackendInventorySpec
    """The machines."""
