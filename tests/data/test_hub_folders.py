"""Corpora in folders of the Hugging Face hub, read from a local stand-in for the hub."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote

import pytest

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.system import addresses
from multihead.text.corpus import corpus_files, read_pairs

fsspec = pytest.importorskip("fsspec")
constants = pytest.importorskip("huggingface_hub.constants")

SHA = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "letters/train.de": "eins\nzwei\n",
    "letters/train.en": "one\ntwo\n",
    "letters/valid.de": "drei\n",
    "letters/valid.en": "three\n",
    "letters/README.md": "no text",
}
"""Files of the repository someone/corpus."""


class Hub(BaseHTTPRequestHandler):
    """A hub with one dataset."""

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        rest = path.removeprefix("/api").removeprefix("/datasets/someone/corpus").partition("/main/")[2]
        if not path.removeprefix("/api").startswith("/datasets/someone/corpus"):
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif path.startswith("/api") and "/tree" in path:
            names = [*FILES, "letters"] if "recursive=true" in self.path or rest else ["letters"]
            self._answer([self._entry(name) for name in names if name.startswith(rest)])
        elif path.startswith("/api"):
            self._answer({"id": "someone/corpus", "sha": SHA, "siblings": []})
        elif rest in FILES:
            self._send(200, FILES[rest].encode(), {"X-Repo-Commit": SHA, "ETag": f'"{rest}"'})
        else:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        paths = json.loads(body)["paths"] if body.startswith("{") else parse_qs(body)["paths"]
        names = [name for name in (*FILES, "letters") if name in paths]
        self._answer([self._entry(name) for name in names])

    def _entry(self, name: str) -> dict[str, object]:
        if name not in FILES:
            return {"type": "directory", "path": name, "oid": SHA}
        return {"type": "file", "path": name, "size": len(FILES[name]), "oid": SHA}

    def _answer(self, content: object) -> None:
        self._send(200, json.dumps(content).encode(), {})

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        print(self.command, self.path)


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setitem(fsspec.config.conf, "hf", {"endpoint": endpoint, "token": False})
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for function in (addresses.local_copy, addresses.list_folder):
        function.cache_clear()
    yield
    server.shutdown()


@pytest.mark.parametrize("folder", ["hf://datasets/someone/corpus/letters", "hf://datasets/someone/corpus"])
def test_a_folder_of_the_hub_is_read_as_the_files_in_it(folder: str) -> None:
    data = DataSettings(source=(folder,))
    files = corpus_files(data.model_copy(update={"source_language": "de"}), [folder], [])
    assert list(read_pairs(data, *files.train)) == [("eins", "one"), ("zwei", "two")]
    assert list(read_pairs(data, *files.valid)) == [("drei", "three")]


def test_a_dataset_named_as_a_model_is_told_how_it_is_named() -> None:
    with pytest.raises(UserError) as error:
        list(read_pairs(DataSettings(), ["hf://someone/corpus/letters"], []))
    assert "hf://datasets/someone/corpus/letters" in str(error.value)


def test_a_folder_that_is_not_there_is_one_line() -> None:
    with pytest.raises(UserError, match="no such file"):
        list(read_pairs(DataSettings(), ["hf://datasets/someone/corpus/words"], []))
