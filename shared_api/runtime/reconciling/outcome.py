"""How a reconcile ends, and what follows from it.

A reconciler returns a `Result` or raises. Errors of the API client are judged by
`errors.classify`; the three exceptions here let a reconciler say it itself. Whatever else
is raised is a defect in the reconciler, and is retried with back-off.
"""

from dataclasses import dataclass

from shared_api.kube.errors import KubeError, Verdict, classify


@dataclass(frozen=True, slots=True)
class Result:
    """A reconcile that went well."""

    requeue_after: float | None = None
    """Seconds after which to look again, for what no event announces."""


DONE = Result()


class Retry(Exception):  # noqa: N818 - it tells what to do
    """Try again with back-off, and not before `after` seconds."""

    def __init__(self, message: str, *, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after


class Terminal(Exception):  # noqa: N818 - it tells what to do
    """Only a change of the object can help; wait for one."""


class WaitForEvent(Exception):  # noqa: N818 - it tells what to do
    """Something that is watched will change; that event comes back here.

    `within` is the number of seconds after which to look again if no event comes.
    """

    def __init__(self, message: str, *, within: float | None = None) -> None:
        super().__init__(message)
        self.within = within


def verdict_of(error: BaseException) -> Verdict:
    """What to do after this error; of a group, what its most hopeful member asks for."""
    match error:
        case Terminal():
            return Verdict.TERMINAL
        case WaitForEvent():
            return Verdict.WAIT_FOR_EVENT
        case BaseExceptionGroup():
            verdicts = {verdict_of(member) for member in error.exceptions}
            for verdict in (Verdict.RETRY, Verdict.WAIT_FOR_EVENT):
                if verdict in verdicts:
                    return verdict
            return Verdict.TERMINAL
        case KubeError():
            return classify(error)
        case _:
            return Verdict.RETRY


def earliest_retry(error: BaseException) -> float:
    """The seconds that the server or the reconciler asks us to stay away."""
    match error:
        case Retry():
            return error.after
        case BaseExceptionGroup():
            return max(earliest_retry(member) for member in error.exceptions)
        case _:
            asked = getattr(error, "retry_after", None)
            return float(asked) if isinstance(asked, int | float) else 0.0


def is_expected(error: BaseException) -> bool:
    """Tell an error that the world caused from a defect in our code."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_expected(member) for member in error.exceptions)
    return isinstance(error, KubeError | Retry | Terminal | WaitForEvent)


def describe(error: BaseException) -> str:
    """One line for a log, with the members of a group."""
    if isinstance(error, BaseExceptionGroup):
        shown = "; ".join(describe(member) for member in error.exceptions[:3])
        return f"{error.message}: {shown}"
    return str(error) or type(error).__name__
