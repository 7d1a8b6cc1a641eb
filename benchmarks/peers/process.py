"""A contestant at work in a process of its own, asked one thing at a time: a line of JSON to and fro."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class Process:
    """Starts the command, and waits until it says that it is ready.

    Args:
        name: of the contestant, for messages.
        command: what to run, e.g. an interpreter, a script and its arguments.
        threads: how many threads its libraries may use.
        variables: of the environment, besides.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        threads: int,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        # How threads wait we set for ourselves; others run as they are.
        own = {key: value for key, value in os.environ.items() if key != "GOMP_SPINCOUNT"}
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=own | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"} | dict(variables or {}),
        )
        self.ready = self._read()

    def ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        """Have something done; return the answer."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer
