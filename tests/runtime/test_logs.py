"""Log lines for machines and for people."""

import contextvars
import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest
import structlog
import structlog.stdlib

from shared_api.runtime import logs


@pytest.fixture(autouse=True)
def undo() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    structlog.reset_defaults()
    root.handlers, root.level = handlers, level


def written(
    form: logs.Format, level: str = "INFO"
) -> tuple[io.StringIO, structlog.stdlib.BoundLogger]:
    out = io.StringIO()
    logs.configure(form, level, out)
    return out, structlog.stdlib.get_logger("toy")


def _in_work(call: Callable[[], object]) -> None:
    context = contextvars.copy_context()
    context.run(logs.IN_WORK.set, ("gang", "a", "x"))
    context.run(call)


def test_json_lines_carry_the_object_that_is_being_worked_on() -> None:
    out, log = written("json")
    _in_work(lambda: log.info("applied", count=3))
    line = json.loads(out.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "message": "applied",
        "level": "info",
        "logger": "toy",
        "controller": "gang",
        "namespace": "a",
        "name": "x",
        "count": 3,
    }


def test_lines_of_libraries_come_out_in_the_same_form() -> None:
    out, _ = written("json")
    _in_work(lambda: logging.getLogger("library").warning("odd: %s", "thing"))
    line = json.loads(out.getvalue())
    assert (line["message"], line["level"], line["name"]) == ("odd: thing", "warning", "x")


def test_a_traceback_is_data_and_shows_no_local_variables() -> None:
    out, log = written("json")
    secret = "hunter2" * 2
    try:
        int(secret, 36 + len(secret))
    except ValueError as error:
        log.warning("failed", exc_info=error)
    line = json.loads(out.getvalue())
    assert line["exception"][0]["exc_type"] == "ValueError"
    assert secret not in out.getvalue()


def test_people_get_one_readable_line() -> None:
    out, log = written("human")
    log.warning("applied", count=3)
    (line,) = out.getvalue().splitlines()
    assert "applied" in line
    assert "count=3" in line
    assert "\x1b" not in line


def test_what_is_below_the_level_is_not_written() -> None:
    out, log = written("json", "WARNING")
    log.info("quiet")
    logging.getLogger("library").info("quiet")
    assert out.getvalue() == ""
