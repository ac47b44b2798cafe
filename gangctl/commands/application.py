"""The application: the verbs, in the order in which people need them.

It owns the list of verbs and the exit codes. A verb reads, calls a pure report and prints it.
"""

import sys
from pathlib import Path
from typing import NoReturn

import typer

from gangctl.commands import inspection
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
app.command()(inspection.backends)


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run one command and exit with its code."""
    program = "gangctl" if Path(sys.argv[0]).name == "gangctl" else "kubectl gang"
    try:
        code = app(arguments, prog_name=program, standalone_mode=False)
    except typer.Abort:
        code = Verdict.ERROR
    except typer.TyperException as error:
        # The library's own code for wrong arguments is 2, which means manual action here.
        sys.stderr.write(f"error: {error.format_message()}\nSee: {program} --help\n")
        code = Verdict.ERROR
    raise SystemExit(int(code or 0))
