"""The web page in Firefox, driven over its own remote protocol (Marionette)."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import running, service
from small_translators import trained_translator

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


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marionette]:
    profile: Path = tmp_path_factory.mktemp("firefox")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (profile / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
    command = [str(FIREFOX), "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield Marionette(port)
        finally:
            process.terminate()


def test_a_text_is_translated_and_its_words_light_up(firefox: Marionette) -> None:
    with service(("de", "en"), translator=trained_translator()) as served, running(served) as address:
        firefox("WebDriver:Navigate", {"url": f"{address}/#q=die+Hunde+schlafen"})
        firefox.wait_for("document.querySelector('#output').innerText.trim() === 'the dogs sleep'")
        assert firefox.run("document.querySelector('#source').selectedOptions[0].text") == "German (auto)"
        word = "document.querySelector('#output .word')"
        firefox.wait_for(f"{word}.style.getPropertyValue('--doubt-alpha') !== ''")
        firefox.run(f"{word}.dispatchEvent(new PointerEvent('pointerover', {{bubbles: true}}))")
        firefox.wait_for("document.querySelectorAll('#mirror .word.lit').length > 0")
        firefox.run(f"{word}.click()")
        firefox.wait_for("document.querySelector('#choices button') !== null")
