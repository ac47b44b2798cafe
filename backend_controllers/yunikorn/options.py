"""The settings of this backend."""

from pydantic import Field

from backend_controllers.contract.declaration import Options

_TEN_YEARS = 10 * 365 * 24 * 3600


class YuniKornOptions(Options):
    """Settings of this backend."""

    default_queue: str | None = Field(default=None, min_length=1, max_length=63)
    """Queue of gangs that name none, such as `root.team`. Without it YuniKorn's placement rules
    decide; the usual ones make a queue of the namespace."""

    placeholder_timeout_seconds: int = Field(default=_TEN_YEARS, ge=1, le=_TEN_YEARS)
    """Seconds after which YuniKorn gives up a reservation that is not complete, counted from the
    creation of the pods, also while they are held. Its pods then fail and are made anew, which
    lets go of the room that was held. The default is ten years: gangs wait for as long as it
    takes, and keep the room that they have found."""
