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


WIDTH = """const {style} = gBrowser.selectedBrowser;
  style.setProperty("max-width", `${arguments[0]}px`);
  return new Promise((resized) => setTimeout(resized, 100));"""
"""Narrows the page inside its window, which Firefox keeps at 450 pixels or more."""
THEME = 'Services.prefs.setIntPref("layout.css.prefers-color-scheme.content-override", arguments[0]);'
ERRORS = """const found = Services.console.getMessageArray().filter((one) => one instanceof Ci.nsIScriptError)
    .filter((one) => !(one.flags & one.warningFlag) && !/^(chrome|resource|moz-)/.test(one.sourceName));
  Services.console.reset();
  return found.map((one) => one.toString());"""
PREFERENCES = """user_pref("marionette.port", %d);
user_pref("dom.events.testing.asyncClipboard", true);
user_pref("browser.download.folderList", 2);
user_pref("browser.download.dir", %s);
"""


class Marionette:
    """A connection to Firefox: commands as JSON, each with its length before it.

    It has the methods of a page of Playwright's that accessibility.py needs.
    """

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

    evaluate = run

    def goto(self, url: str) -> None:
        self("WebDriver:Navigate", {"url": url})

    def set_viewport_size(self, size: dict[str, int]) -> None:
        self("WebDriver:SetWindowRect", {"width": 1280, "height": size["height"] + 100})
        self._in_window(WIDTH, size["width"])

    def emulate_media(self, color_scheme: str) -> None:
        self._in_window(THEME, ("dark", "light").index(color_scheme))

    def errors(self) -> list[str]:
        """Return the errors that pages and their workers have reported since the last call."""
        reported: list[str] = self._in_window(ERRORS)
        return reported

    def _in_window(self, script: str, *arguments: object) -> Any:
        """Run a script in Firefox's own window."""
        self("Marionette:SetContext", {"value": "chrome"})
        result = self("WebDriver:ExecuteScript", {"script": script, "args": [*arguments]})["value"]
        self("Marionette:SetContext", {"value": "content"})
        return result

    def wait_for(self, script: str) -> None:
        end = time.monotonic() + 30
        while not self.run(script):
            assert time.monotonic() < end, script
            time.sleep(0.05)


def open_firefox(profile: Path) -> Iterator[Marionette]:
    """Yield a connection to Firefox and end it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (profile / "user.js").write_text(PREFERENCES % (port, json.dumps(str(profile))))
    command = [str(FIREFOX), "--headless", "--marionette", "--remote-allow-system-access", "--no-remote"]
    command += ["--profile", str(profile)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield Marionette(port)
        finally:
            process.terminate()
