"""The application: the verbs, in the order in which people need them.

It owns the list of verbs and the exit codes. A verb reads, calls a pure report and prints it.
"""

import os
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import typer

from gangctl.commands import changing, diagnosis, inspection, logs, planning
from gangctl.commands.completion import COMPLETE, PROGRAM
from gangctl.commands.dashboard import dashboard
from gangctl.reports.view import Verdict

app = typer.Typer(
    name="kubectl gang",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def options() -> None:
    """Show what gangs wait for, with your own rights. Nothing is installed in the cluster.

    Exit codes: 0 fine, 1 waiting, 2 requires manual action, 3 error.
    """


app.command()(inspection.status)
app.command()(inspection.why)
app.command()(inspection.tree)
app.command()(planning.topology)
app.command()(planning.fit)
app.command()(inspection.backends)
app.add_typer(changing.rollout, name="rollout")
app.command()(changing.scale)
app.command()(logs.logs)
app.command()(diagnosis.doctor)
app.command()(diagnosis.bundle)
app.command()(dashboard)


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run one command and exit with its code."""
    program = PROGRAM if Path(sys.argv[0]).name == PROGRAM else "kubectl gang"
    # A completion belongs to a program, whose name has no space.
    completes = COMPLETE in os.environ or {"--install-completion", "--show-completion"} & set(
        sys.argv
    )
    try:
        code = app(arguments, prog_name=PROGRAM if completes else program, standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        code = Verdict.ERROR
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Python flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Verdict.FINE
    except typer.TyperException as error:
        # The library's own code for wrong arguments is 2, which means manual action here.
        message = error.format_message()
        # Without a verb, the message is the help.
        is_help = message.startswith("Usage: ")
        sys.stderr.write(
            f"{message}\n" if is_help else f"error: {message}\nSee: {program} --help\n"
        )
        code = Verdict.ERROR
    except Exception:  # noqa: BLE001 - the code of the interpreter is 1, which means waiting here
        traceback.print_exc()
        code = Verdict.ERROR
    raise SystemExit(int(code or 0))
