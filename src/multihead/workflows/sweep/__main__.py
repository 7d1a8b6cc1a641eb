"""``python -m multihead.workflows.sweep TOML RUN``: one member of a sweep."""

import sys

from multihead.workflows.sweep.member import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
