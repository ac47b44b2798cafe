"""The console scripts `kubectl-gang` and `gangctl`, and `python -m gangctl`."""

import gc

from gangctl.commands.application import run

# The default collects after 700 new objects, and walks all of them again and again while 10,000 pods are
# decoded. That takes three quarters of the time. The lists have no cycles.
_OBJECTS_BEFORE_COLLECTION = 200_000


def main() -> None:
    """Run one command and exit with its code."""
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)
    run()


if __name__ == "__main__":
    main()
