"""The command ``multihead serve``, run as a separate process."""

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


def test_the_server_runs_until_it_is_interrupted(trained: Path, capfdbinary: Captured) -> None:
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
                results = json.load(answer)["translatedText"]
            with urllib.request.urlopen(f"{address}/inspect?q=eins%20zwei", timeout=120) as answer:
                assert "<!doctype html>" in answer.read().decode().lower()
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    (trained.parent / "two.de").write_text("eins\nzwei drei\n", encoding="utf-8")
    out, _ = run(capfdbinary, "translate", trained, "-i", trained.parent / "two.de", "--precision", "fp32")
    assert f"{results}\n" == out


def test_invalid_options_and_ports_in_use_are_user_errors(trained: Path, capfdbinary: Captured) -> None:
    assert "no run folder was given" in fail(capfdbinary, "serve")
    assert "--port 70000" in fail(capfdbinary, "serve", trained, "--port", 70_000)
    assert "--max-chars 0" in fail(capfdbinary, "serve", trained, "--max-chars", 0)
    assert "no such run folder" in fail(capfdbinary, "serve", trained / "nowhere", "--port", 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = fail(capfdbinary, "serve", trained, "--port", port)
    assert f"127.0.0.1:{port}: cannot listen on this address" in error
    assert "cannot listen on this address" in fail(capfdbinary, "serve", trained, "--host", "nowhere.invalid")


def test_missing_packages_are_reported_with_the_extra_to_install(
    capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "multihead.cli.serve", raising=False)
    monkeypatch.delattr(cli, "serve", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    error = fail(capfdbinary, "serve", "runs/x")
    assert "uvicorn is not installed. pip install 'multihead[serve]'" in error
