"""A process that somebody else started does not outlive it."""

import subprocess
import sys
import time
from pathlib import Path

CHILD = """
import sys, time
from pathlib import Path
from multihead.training.interrupt import stop_with_parent, watched
stop_with_parent(every=0.02)
with watched() as interrupt:
    Path(sys.argv[1], "ready").touch()
    while not interrupt.asked:
        time.sleep(0.01)
Path(sys.argv[1], "asked").touch()
"""
PARENT = """
import os, signal, subprocess, sys, time
from pathlib import Path
subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], start_new_session=True)
while not Path(sys.argv[2], "ready").exists():
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_member_is_asked_to_stop_when_its_sweep_is_killed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PARENT, CHILD, str(tmp_path)], check=False, timeout=60)
    assert done.returncode == -9
    for _ in range(500):
        if (tmp_path / "asked").exists():
            return
        time.sleep(0.01)
    raise AssertionError("it goes on")
