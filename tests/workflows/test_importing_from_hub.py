"""Import of a model by its name on the hub, from a local stand-in for the hub."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel

SHA = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Answers what a download asks the hub for: the list of a model's files, and the files."""

    root: Path
    requested: list[str]

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        type(self).requested.append(path)
        owner_model = "/".join(path.removeprefix("/api/models").split("/")[1:3])
        folder = self.root / owner_model
        if not folder.is_dir():
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif path.startswith("/api/models/") and "/tree/" in path:
            files = [
                {"type": "file", "path": f.name, "size": f.stat().st_size, "oid": f.name}
                for f in folder.iterdir()
            ]
            self._send(200, json.dumps(files).encode())
        elif path.startswith("/api/models/"):
            files = [{"rfilename": file.name} for file in sorted(folder.iterdir())]
            self._send(200, json.dumps({"id": owner_model, "sha": SHA, "siblings": files}).encode())
        else:
            file = folder / path.rpartition("/")[2]
            self._send(200, file.read_bytes(), {"X-Repo-Commit": SHA, "ETag": f'"{file.name}"'})

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "hub" / "someone" / "tiny-gpt2"
    folder.mkdir(parents=True)
    Tokenizer(models.WordLevel({"<|endoftext|>": 0, "a": 1, "b": 2}, unk_token="a")).save(
        str(folder / "tokenizer.json")
    )
    torch.manual_seed(7)
    GPT2LMHeadModel(GPT2Config(vocab_size=3, n_positions=13, n_embd=14, n_layer=1, n_head=2)).save_pretrained(
        folder
    )
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    pickled = tmp_path / "hub" / "someone" / "pickled"
    pickled.mkdir()
    (pickled / "pytorch_model.bin").write_bytes(b"never read")
    Hub.root, Hub.requested = tmp_path / "hub", []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def run_import(
    tmp_path: Path, endpoint: str, name: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "cache"),
        "HF_HUB_DISABLE_TELEMETRY": "1", **variables,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "multihead", "import", name, "-o", "run"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_a_model_is_imported_by_its_name_and_no_pickle_is_fetched(tmp_path: Path, hub: str) -> None:
    done = run_import(tmp_path, hub, "someone/tiny-gpt2")
    assert done.returncode == 0, done.stderr
    theirs = load_file(Hub.root / "someone" / "tiny-gpt2" / "model.safetensors")
    ours = load_file(tmp_path / "run" / "model.safetensors")
    assert sum(weight.numel() for weight in ours.values()) == sum(
        weight.numel() for weight in theirs.values()
    )
    assert 'name = "tiny-gpt2"' in (tmp_path / "run" / "recipe.toml").read_text(encoding="utf-8")
    assert not any(path.endswith(".bin") for path in Hub.requested)
    (tmp_path / "run").rename(tmp_path / "first")
    assert run_import(tmp_path, hub, "someone/tiny-gpt2", HF_HUB_OFFLINE="1").returncode == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("someone/no-such-model", "there is no folder someone/no-such-model"),
        ("someone/pickled", "no weights in safetensors"),
    ],
)
def test_what_the_hub_lacks_is_one_line(tmp_path: Path, hub: str, name: str, message: str) -> None:
    done = run_import(tmp_path, hub, name)
    assert done.returncode == 2
    assert message in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_folder_comes_before_a_model_of_the_same_name(tmp_path: Path, hub: str) -> None:
    (tmp_path / "someone" / "tiny-gpt2").mkdir(parents=True)
    done = run_import(tmp_path, hub, "someone/tiny-gpt2")
    assert "config.json" in done.stderr
    assert not Hub.requested


def test_without_a_network_it_is_one_line(tmp_path: Path) -> None:
    done = run_import(tmp_path, "http://127.0.0.1:9", "someone/tiny-gpt2")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
