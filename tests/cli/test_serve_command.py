"""`multihead serve`, as a process of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead import cli


def test_it_serves_until_it_is_asked_to_end(trained: Path, capfdbinary: Captured) -> None:
    command = [sys.executable, "-m", "multihead", "serve", str(trained), "--port", "0", "--precision", "fp32"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as server:
        assert server.stdout is not None
        try:
            assert server.stdout.readline().decode().strip() == f"de to en: {trained}"
            address = server.stdout.readline().decode().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
            body = json.dumps({"q": "eins\nzwei drei", "source": "de", "target": "en"}).encode()
            with urllib.request.urlopen(f"{address}/translate", body, timeout=60) as answer:
                told = json.load(answer)["translatedText"]
            with urllib.request.urlopen(f"{address}/inspect?q=eins%20zwei", timeout=120) as answer:
                assert "<!doctype html>" in answer.read().decode().lower()
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    (trained.parent / "two.de").write_text("eins\nzwei drei\n", encoding="utf-8")
    out, _ = run(capfdbinary, "translate", trained, "-i", trained.parent / "two.de", "--precision", "fp32")
    assert f"{told}\n" == out


def test_what_cannot_be_served_is_told(trained: Path, capfdbinary: Captured) -> None:
    assert "no run folder is named" in fail(capfdbinary, "serve")
    assert "--port 70000" in fail(capfdbinary, "serve", trained, "--port", 70_000)
    assert "--max-chars 0" in fail(capfdbinary, "serve", trained, "--max-chars", 0)
    assert "no such run folder" in fail(capfdbinary, "serve", trained / "nowhere", "--port", 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = fail(capfdbinary, "serve", trained, "--port", port)
    assert f"127.0.0.1:{port}: cannot be listened on" in told
    assert "cannot be listened on" in fail(capfdbinary, "serve", trained, "--host", "nowhere.invalid")


def test_without_its_packages_the_remedy_is_told(
    capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "multihead.cli.serve", raising=False)
    monkeypatch.delattr(cli, "serve", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    told = fail(capfdbinary, "serve", "runs/x")
    assert "uvicorn is not installed. pip install 'multihead[serve]'" in told
