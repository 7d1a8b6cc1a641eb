"""Pages in Firefox, driven over its own remote protocol (Marionette). Tests skip without it."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FIREFOX = next((path for name in ("firefox-esr", "firefox") if (path := shutil.which(name))), None)
if FIREFOX is None:
    pytest.skip("no Firefox on this machine", allow_module_level=True)


class Marionette:
    """A connection to Firefox: commands as JSON, each with its length before it."""

    def __init__(self, port: int) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
                break
            except OSError:
                assert time.monotonic() < end, "Firefox does not listen"
                time.sleep(0.1)
        self._file = self._socket.makefile("rb")
        self._read()
        self._number = 0
        self("WebDriver:NewSession", {})

    def _read(self) -> Any:
        length = b""
        while (byte := self._file.read(1)) != b":":
            assert byte, "Firefox has ended"
            length += byte
        return json.loads(self._file.read(int(length)))

    def __call__(self, command: str, arguments: dict[str, object]) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, command, arguments]).encode()
        self._socket.sendall(b"%d:%b" % (len(message), message))
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def run(self, script: str) -> Any:
        return self("WebDriver:ExecuteScript", {"script": f"return {script}", "args": []})["value"]

    def wait_for(self, script: str) -> None:
        end = time.monotonic() + 30
        while not self.run(script):
            assert time.monotonic() < end, script
            time.sleep(0.05)


def open_firefox(profile: Path) -> Iterator[Marionette]:
    """Yield a connection to Firefox and end it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (profile / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
    command = [str(FIREFOX), "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield Marionette(port)
        finally:
            process.terminate()
