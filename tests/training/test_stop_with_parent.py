"""A child process does not outlive its parent."""

import subprocess
import sys
import time
from pathlib import Path

CHILD = """
import sys, time
from pathlib import Path
from multihead.training.interrupt import interruptible, stop_with_parent
stop_with_parent(every=0.02)
with interruptible() as interrupt:
    Path(sys.argv[1], "ready").touch()
    while not interrupt.requested:
        time.sleep(0.01)
Path(sys.argv[1], "stopped").touch()
"""
PARENT = """
import os, signal, subprocess, sys, time
from pathlib import Path
subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], start_new_session=True)
while not Path(sys.argv[2], "ready").exists():
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_member_stops_when_its_sweep_is_killed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PARENT, CHILD, str(tmp_path)], check=False, timeout=60)
    assert done.returncode == -9
    for _ in range(500):
        if (tmp_path / "stopped").exists():
            return
        time.sleep(0.01)
    raise AssertionError("the child is still running")
