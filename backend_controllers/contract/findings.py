"""What a translator finds wrong with a gang, collected so that a user reads all of it at once.

A refusal prevents the objects of the gang; a remark names something that is not applied.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Findings:
    """Refusals and remarks about one gang."""

    refusals: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def weigh(self, message: str, *, required: bool) -> None:
        """Refuse what is required; remark on what is only preferred."""
        (self.refusals if required else self.remarks).append(message)
