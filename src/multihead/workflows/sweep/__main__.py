"""Entry point of a sweep's member process: ``python -m multihead.workflows.sweep TOML RUN``."""

import sys

from multihead.training.interrupt import stop_with_parent
from multihead.workflows.sweep.member import main

if __name__ == "__main__":
    stop_with_parent()  # no other process could stop it then
    sys.exit(main(sys.argv[1:]))
