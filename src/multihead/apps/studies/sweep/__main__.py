"""Entry point of a sweep's member process: ``python -m multihead.apps.studies.sweep TOML RUN``."""

import sys

from multihead.apps.studies.sweep.member import main
from multihead.training.interrupt import stop_with_parent

if __name__ == "__main__":
    stop_with_parent()  # no other process could stop it then
    sys.exit(main(sys.argv[1:]))
