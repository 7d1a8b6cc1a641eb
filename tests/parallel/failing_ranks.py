"""Ways in which one of two processes fails while the other waits for it."""

import os
import signal
import time

from multihead.errors import UserError
from multihead.system import parallel


def one_dies() -> None:
    """Process 1 is killed."""
    if parallel.rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    parallel.gather_numbers([1.0])


def one_is_refused() -> None:
    """Process 1 finds a mistake."""
    if parallel.rank() == 1:
        raise UserError("the corpus is missing", place="train.de")
    parallel.from_first(lambda: parallel.gather_numbers([1.0]))


def one_is_late() -> int:
    """Process 1 reads what process 0 wrote last when process 0 has nothing left to do."""
    if parallel.rank() == 1:
        time.sleep(1)
    found: int = parallel.from_first(lambda: 7)
    return found
