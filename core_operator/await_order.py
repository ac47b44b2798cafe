"""The former name of `startup_wait`: pods that were created with this command still run it."""

import sys

from startup_wait.__main__ import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
