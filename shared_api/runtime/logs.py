"""Sets up log lines that name the object: JSON for machines, colour for terminals.

Messages are constant; values are keys. Every line names the object that is being reconciled
(controller, namespace, name). Lines of libraries do too: they use the standard library and get the
same format. Most reconciles write no line, so the object is stored as one tuple, and its keys are
added only to lines that are written.
"""

import logging
import sys
from contextvars import ContextVar
from typing import Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor

Format = Literal["json", "human"]

IN_WORK: ContextVar[tuple[str, str, str] | None] = ContextVar("in_work", default=None)
"""Controller, namespace and name of what is being reconciled."""


def _with_subject(logger: object, method: str, event: EventDict) -> EventDict:
    del logger, method
    if (subject := IN_WORK.get()) is not None:
        for key, value in zip(("controller", "namespace", "name"), subject, strict=True):
            event.setdefault(key, value)
    return event


SHARED: tuple[Processor, ...] = (
    _with_subject,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    structlog.processors.StackInfoRenderer(),
)

# Without local variables: they may hold credentials.
_TRACEBACK = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)


def configure(form: Format = "json", level: str = "INFO", stream: TextIO | None = None) -> None:
    """Set up logging of the whole process; the last call wins."""
    out = stream or sys.stderr
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        # A logger made before this call must obey it too.
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=SHARED,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(form, colors=out.isatty()),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    # One line per request is noise; our own metrics count them.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


def _rendering(form: Format, *, colors: bool) -> list[Processor]:
    if form == "human":
        plain = structlog.dev.plain_traceback
        return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)]
    return [
        structlog.processors.ExceptionRenderer(_TRACEBACK),
        structlog.processors.EventRenamer("message"),
        structlog.processors.JSONRenderer(sort_keys=False, default=str),
    ]
