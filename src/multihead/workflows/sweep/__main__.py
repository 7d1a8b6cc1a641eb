"""``python -m multihead.workflows.sweep TOML RUN``: one member of a sweep."""

import sys

from multihead.training.interrupt import stop_with_parent
from multihead.workflows.sweep.member import main

if __name__ == "__main__":
    stop_with_parent()  # nobody would be left to tell it to
    sys.exit(main(sys.argv[1:]))
