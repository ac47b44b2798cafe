"""`python -m tests.dashboard.bundle`: builds the page into one script and one style sheet, with esbuild.

The bundle is not committed. It is part of what `pip install` copies from a clone in which it was built; without
it the modules are served as they are.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from gangctl.dashboard.files import BUNDLE, MARK, MODULES, contents, digest
from tests.dashboard.toolchain import NotAvailableError, installed

_STYLE = re.compile(r'  <link rel="stylesheet" href="(\S+)">\n')
_SCRIPT = re.compile(r'src="(\S+)"')
# The browsers of 2023, as in docs/decisions: newer syntax is translated.
_TARGET = "es2022,chrome114,firefox115,safari16.4"


def build(folder: Path = BUNDLE) -> None:
    """Write the bundle into a folder, instead of what was there."""
    index = (MODULES / "index.html").read_text()
    styles, script = _STYLE.findall(index), _SCRIPT.findall(index)
    assert len(script) == 1, "the page has one entry"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "page.js").write_bytes(_bundled(f'import "./{script[0]}";', "js"))
    (folder / "page.css").write_bytes(
        _bundled("".join(f'@import "./{name}";\n' for name in styles), "css")
    )
    linked = _STYLE.sub("", index, count=len(styles) - 1).replace(styles[-1], "page.css")
    (folder / "index.html").write_text(linked.replace(script[0], "page.js"))
    shutil.copy(MODULES / "favicon.svg", folder)
    (folder / MARK).write_text(digest(contents(MODULES)))


def _bundled(entry: str, kind: str) -> bytes:
    """Return everything that an entry imports, in one file."""
    return subprocess.run(
        [
            *("node", installed() / "esbuild" / "bin" / "esbuild"),
            *("--bundle", "--minify", "--format=esm", f"--target={_TARGET}"),
            *(f"--loader={kind}", f"--sourcefile=entry.{kind}", "--log-level=warning"),
        ],
        input=entry.encode(),
        cwd=MODULES,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout


if __name__ == "__main__":
    try:
        build()
    except NotAvailableError as error:
        sys.exit(str(error))
    for path in sorted(BUNDLE.iterdir()):
        sys.stdout.write(f"{path.name:<16}{path.stat().st_size:>8} bytes\n")
