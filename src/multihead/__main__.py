"""``python -m multihead``: the command line."""

import sys

from multihead.cli import main

if __name__ == "__main__":
    sys.exit(main())
