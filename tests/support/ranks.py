"""Start a function of this file in several processes that train together, and collect what each returns."""

import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).parent
SOURCE = SUPPORT.parents[1] / "src"


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


class Ranks:
    """Processes that run a function of a module, one a rank; ``given`` are variables of each."""

    def __init__(
        self, module: Path, function: str, world: int, *given: dict[str, str], port: int | None = None
    ) -> None:
        common = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(SOURCE), str(SUPPORT), str(module.parent)]),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port or free_port()),
            "WORLD_SIZE": str(world),
        }
        # In files: what a process writes to a pipe in its last moments was cut off now and then.
        self._folder = tempfile.TemporaryDirectory()
        self._files = [Path(self._folder.name) / f"{rank}.json" for rank in range(world)]
        self.processes = [
            subprocess.Popen(
                [sys.executable, __file__, module.stem, function, str(self._files[rank])],
                env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank), **own},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank, own in enumerate(given or ({},) * world)
        ]
        self.errors: list[str] = []

    def results(self, timeout: float = 60) -> list[Any]:
        """Return what each process returned; its exit code if it failed. ``errors`` holds standard error."""
        found: list[Any] = []
        try:
            for process, file in zip(self.processes, self._files, strict=True):
                self.errors.append(process.communicate(timeout=timeout)[1])
                found.append(process.returncode or json.loads(file.read_text(encoding="utf-8")))
        finally:
            for process in self.processes:
                process.kill()
                process.wait()
            self._folder.cleanup()
        return found


def main() -> int:
    """Run the named function, and write what it returns."""
    from multihead.errors import UserError  # noqa: PLC0415
    from multihead.system import parallel  # noqa: PLC0415

    try:
        with parallel.begin():
            result = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])()
    except UserError as error:
        print(error, file=sys.stderr)
        return error.code
    Path(sys.argv[3]).write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
