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

SUBTITLES = b"1\n00:00:01,000 --> 00:00:02,500\nzwei drei\n"


def translated_file(address: str, name: str, content: bytes) -> tuple[bytes, list[str]]:
    """Upload a file and return its translation and the server's cautions."""
    body = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    request = urllib.request.Request(f"{address}/translate_file", body + content + b"\r\n--x--\r\n", headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        accepted = json.load(answer)
    with urllib.request.urlopen(accepted["translatedFileUrl"], timeout=60) as answer:
        return answer.read(), accepted.get("cautions", [])


def server(run: Path) -> "subprocess.Popen[bytes]":
    """Start a server in a process of its own."""
    command = [sys.executable, "-m", "multihead", "serve", str(run), "--port", "0", "--precision", "fp32"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"})


def address_of(server: "subprocess.Popen[bytes]", run: Path) -> str:
    """Return the address that a server prints."""
    assert server.stdout is not None
    assert server.stdout.readline().decode().strip() == f"de to en: {run}"
    address = server.stdout.readline().decode().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
    return address


def test_the_server_runs_until_it_is_told_to_end(trained: Path, capfdbinary: Captured) -> None:
    with server(trained) as serving:
        try:
            address = address_of(serving, trained)
            body = json.dumps({"q": "eins\nzwei drei", "source": "de", "target": "en"}).encode()
            with urllib.request.urlopen(f"{address}/translate", body, timeout=60) as answer:
                results = json.load(answer)["translatedText"]
            body = json.dumps({"q": "zwei drei", "source": "de", "target": "en"}).encode()
            with urllib.request.urlopen(f"{address}/translate", body, timeout=60) as answer:
                translated = json.load(answer)["translatedText"].encode()
            document, cautions = translated_file(address, "letter.srt", SUBTITLES)
            _, other_cautions = translated_file(address, "page.html", b'<html lang="fr"><p>eins zwei')
            with urllib.request.urlopen(f"{address}/inspect?q=eins%20zwei", timeout=120) as answer:
                assert "<!doctype html>" in answer.read().decode().lower()
        finally:
            serving.send_signal(signal.SIGINT)
        assert serving.wait(60) == 0
    assert document.startswith(b"1\n00:00:01,000 --> 00:00:02,500\n")
    assert translated in document
    assert not cautions
    assert other_cautions == [
        "the document names fr as the language to translate from, the model translates from de"
    ]
    (trained.parent / "two.de").write_text("eins\nzwei drei\n", encoding="utf-8")
    out, _ = run(capfdbinary, "translate", trained, "-i", trained.parent / "two.de", "--precision", "fp32")
    assert f"{results}\n" == out


def test_a_terminated_server_exits_with_0(trained: Path) -> None:
    with server(trained) as serving:
        try:
            address_of(serving, trained)
        finally:
            serving.send_signal(signal.SIGTERM)
        assert serving.wait(60) == 0


def test_invalid_options_and_ports_in_use_are_user_errors(trained: Path, capfdbinary: Captured) -> None:
    assert "RUN is missing" in fail(capfdbinary, "serve")
    assert "--port 70000" in fail(capfdbinary, "serve", trained, "--port", 70_000)
    assert "--max-chars 0" in fail(capfdbinary, "serve", trained, "--max-chars", 0)
    assert "no such run folder" in fail(capfdbinary, "serve", trained / "nowhere", "--port", 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = fail(capfdbinary, "serve", trained, "--port", port)
    assert f"127.0.0.1:{port}: cannot listen on this address" in error
    assert "cannot listen on" in fail(capfdbinary, "serve", trained, "--host", "nowhere.invalid", "--open")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_an_address_beyond_this_machine_needs_keys_or_open(
    trained: Path, capfdbinary: Captured, host: str
) -> None:
    error = fail(capfdbinary, "serve", trained, "--host", host)
    assert f"--host {host}: anybody who can connect could use the server" in error


def test_a_file_of_keys_is_checked(trained: Path, capfdbinary: Captured) -> None:
    keys = trained.parent / "keys.txt"
    for content, fact in [
        ("# none\n", "no keys"),
        ("app short\n", "keys.txt:1: a key of fewer than 16 characters"),
        ("only-one-word-here\n", "keys.txt:1: not a name and a key"),
        ("app sha256:xyz\n", "keys.txt:1: not a SHA-256 digest"),
        ("a 1234567890123456\na 1234567890123457\n", 'keys.txt:2: the name "a" is used twice'),
    ]:
        keys.write_text(content)
        assert fact in fail(capfdbinary, "serve", trained, "--keys", keys)


def test_missing_packages_are_reported_with_the_extra_to_install(
    capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "multihead.cli.serve", raising=False)
    monkeypatch.delattr(cli, "serve", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    error = fail(capfdbinary, "serve", "runs/x")
    assert "Uvicorn, which is not installed. pip install 'multihead[serve]'" in error
