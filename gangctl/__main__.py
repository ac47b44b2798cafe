"""The console scripts `kubectl-gang` and `gangctl`, and `python -m gangctl`."""

from gangctl.commands.application import run


def main() -> None:
    """Run one command and exit with its code."""
    run()


if __name__ == "__main__":
    main()
