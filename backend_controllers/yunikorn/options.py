"""The settings of this backend."""

from pydantic import Field

from backend_controllers.contract.declaration import Options

_TEN_YEARS = 10 * 365 * 24 * 3600


class YuniKornOptions(Options):
    """Settings of this backend."""

    default_queue: str | None = Field(default=None, min_length=1, max_length=63)
    """Queue of gangs that set none, such as `root.team`. Without it YuniKorn's placement rules
    decide; the usual rules use a queue for each namespace."""

    assume_installed: bool = False
    """Serve gangs although no Service `yunikorn-service` exists, which YuniKorn's chart creates. For
    installations without that chart."""

    placeholder_timeout_seconds: int = Field(default=_TEN_YEARS, ge=1, le=_TEN_YEARS)
    """Seconds after which YuniKorn gives up an incomplete reservation, counted from the creation of
    the pods, also while they are gated. Its pods then fail and are recreated, which frees the
    reserved capacity. The default is ten years: gangs wait without a limit and keep what is
    reserved."""
