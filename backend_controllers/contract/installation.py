"""What a scheduler can do in this cluster, and how its backend is configured for it.

Every translator and mirror of one dialect gets the same value, which detection builds once. Each
backend derives a class of its own, so that a message about types names the scheduler.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from backend_controllers.contract.declaration import Options

F = TypeVar("F")
S = TypeVar("S", bound=Options)


@dataclass(frozen=True, slots=True)
class Installation(Generic[F, S]):
    """The features that were found, and the options of the backend."""

    features: F
    options: S
