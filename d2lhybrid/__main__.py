"""``python -m d2lhybrid COMMAND``; the commands are in ``cli``."""

import sys

from d2lhybrid.cli import main

if __name__ == "__main__":
    sys.exit(main())
