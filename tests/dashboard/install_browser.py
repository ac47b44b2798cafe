"""`python -m tests.dashboard.install_browser`: installs chromium where that is possible without asking.

That is on Debian and Ubuntu as root, as in CI. Elsewhere it does nothing if a browser is there, and
otherwise fails with the package to install. Nothing else of the system is changed.
"""

import os
import shutil
import subprocess
import sys

from tests.dashboard.browser import executable, why_not

PACKAGES = ("chromium", "fonts-dejavu-core")


def why_no_browser() -> str:
    """Why there is no browser and none can be installed; empty if there is or will be one."""
    return "" if executable() is None and _may_install() else why_not()


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def main() -> int:
    """Install the browser if it is missing; 1 if that is not possible."""
    if executable() is None and _may_install():
        for arguments in (("update",), ("install", "--yes", "--no-install-recommends", *PACKAGES)):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            command = ["apt-get", "--quiet=2", *arguments]
            subprocess.run(command, check=True, env=environment, stdout=sys.stderr)
    if reason := why_not():
        sys.stderr.write(f"{reason}\n")
    return int(bool(reason))


if __name__ == "__main__":
    sys.exit(main())
