"""Entry point of ``python -m multihead``, the same as the command ``multihead``."""

import sys

from multihead.cli import main

if __name__ == "__main__":
    sys.exit(main())
