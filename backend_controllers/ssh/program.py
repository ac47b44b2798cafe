"""The program for hosts, joined from the modules of `host`. `python -m` prints it, for an installation.

A host runs `python3 -c BOOTSTRAP`, which reads the program from the connection; nothing is installed.
"""

import sys
from functools import cache
from importlib.resources import files

_PACKAGE = "backend_controllers.ssh.host"
_MODULES = ("files", "limits", "supervisor", "agent")
"""Each imports only from those before it."""


@cache
def program() -> str:
    """Return the source of the agent."""
    parts = [files(_PACKAGE).joinpath(f"{name}.py").read_text() for name in _MODULES]
    lines = "\n".join(parts).splitlines()
    return "\n".join(line for line in lines if not line.startswith(f"from {_PACKAGE}.")) + "\n"


def bootstrap(source: bytes) -> str:
    """Return the command that starts a program which follows on its input."""
    # Read without a buffer: what comes after the program is for the program.
    code = (
        f"import os\nb=b''\nwhile len(b)<{len(source)}:\n"
        f" p=os.read(0,{len(source)}-len(b))\n if not p: raise SystemExit(1)\n b+=p\n"
        "exec(compile(b,'podgang-agent','exec'))"
    )
    return f'python3 -I -c "{code}"'


if __name__ == "__main__":
    sys.stdout.write(program())
