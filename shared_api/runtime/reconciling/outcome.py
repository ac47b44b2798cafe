"""How a reconcile ends, and what follows from it.

A reconciler returns a `Result` or raises. `errors.classify` decides about errors of the API client;
the three exceptions here let a reconciler decide. Every other exception is a defect in the
reconciler and is retried with back-off.
"""

from dataclasses import dataclass

from shared_api.kube.errors import ErrorAction, KubeError, classify


@dataclass(frozen=True, slots=True)
class Result:
    """A reconcile that succeeded."""

    requeue_after: float | None = None
    """Seconds after which to reconcile again, where no event will add the key."""


DONE = Result()


class Retry(Exception):  # noqa: N818 - it names the action
    """Try again with back-off, not before `after` seconds."""

    def __init__(self, message: str, *, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after


class Terminal(Exception):  # noqa: N818 - it names the action
    """Only a change of the object can help."""


class WaitForEvent(Exception):  # noqa: N818 - it names the action
    """An event of a watched object will add the key again, at the latest after `within` seconds."""

    def __init__(self, message: str, *, within: float | None = None) -> None:
        super().__init__(message)
        self.within = within


def verdict_of(error: BaseException) -> ErrorAction:
    """Return what to do after this error; a group is retried if one member is."""
    match error:
        case Terminal():
            return ErrorAction.TERMINAL
        case WaitForEvent():
            return ErrorAction.WAIT_FOR_EVENT
        case BaseExceptionGroup():
            verdicts = {verdict_of(member) for member in error.exceptions}
            for verdict in (ErrorAction.RETRY, ErrorAction.WAIT_FOR_EVENT):
                if verdict in verdicts:
                    return verdict
            return ErrorAction.TERMINAL
        case KubeError():
            return classify(error)
        case _:
            return ErrorAction.RETRY


def earliest_retry(error: BaseException) -> float:
    """Return the seconds that the server or the reconciler asks us to wait."""
    match error:
        case Retry():
            return error.after
        case BaseExceptionGroup():
            return max(earliest_retry(member) for member in error.exceptions)
        case _:
            asked = getattr(error, "retry_after", None)
            return float(asked) if isinstance(asked, int | float) else 0.0


def is_expected(error: BaseException) -> bool:
    """Tell whether an error is expected, not a defect in our code."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_expected(member) for member in error.exceptions)
    return isinstance(error, KubeError | Retry | Terminal | WaitForEvent)


def describe(error: BaseException) -> str:
    """Return one line for a log, with the first members of a group."""
    if isinstance(error, BaseExceptionGroup):
        shown = "; ".join(describe(member) for member in error.exceptions[:3])
        return f"{error.message}: {shown}"
    return str(error) or type(error).__name__
