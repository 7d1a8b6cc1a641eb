"""Downloads of catalogue corpora, resumed and verified, from a local test server."""

import errno
import hashlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from multihead.data import download
from multihead.data.catalogue import CORPORA, CatalogueCorpus, CorpusFile, corpus_named, remedy_for_missing
from multihead.data.download import get
from multihead.errors import UserError

CONTENT = {"train.de.gz": bytes(range(251)) * 1009, "train.en.gz": b"Ein kleines Haus.\n" * 7}
SHARED = Path(__file__).parents[3] / "shared" / "data" / "multi30k"


class Publisher(http.server.ThreadingHTTPServer):
    """Serves CONTENT, with faults on request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = dict(CONTENT)
        self.break_off_after: list[int] = []
        """Bytes after which the next responses break off."""
        self.ranges = True
        self.asked: list[str | None] = []


class Handler(http.server.BaseHTTPRequestHandler):
    server: Publisher

    def do_GET(self) -> None:
        wanted = self.headers["Range"]
        self.server.asked.append(wanted)
        body = self.server.content.get(self.path.removeprefix("/"))
        if body is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.server.ranges else 0
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        limit = self.server.break_off_after.pop(0) if self.server.break_off_after else len(body)
        self.wfile.write(body[start : start + limit])

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    monkeypatch.setattr(download, "PAUSE", 0.0)
    with Publisher() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def corpus(publisher: Publisher) -> CatalogueCorpus:
    files = tuple(
        CorpusFile(name, len(body), hashlib.sha256(body).hexdigest()) for name, body in CONTENT.items()
    )
    address = f"http://127.0.0.1:{publisher.server_port}/"
    return CatalogueCorpus("toy", "about", "origin", "licence", files, url=address)


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_arrive_complete_and_are_not_downloaded_twice(
    tmp_path: Path, corpus: CatalogueCorpus, publisher: Publisher
) -> None:
    reported: list[tuple[str, int, int]] = []
    get(corpus, tmp_path / "to", progress=lambda *news: reported.append(news))
    assert held(tmp_path / "to") == CONTENT
    for name, body in CONTENT.items():
        done = [done for file, done, total in reported if file == name and total == len(body)]
        assert done == sorted(done)
        assert done[-1] == len(body)
    get(corpus, tmp_path / "to")
    assert len(publisher.asked) == len(CONTENT)


def test_an_interrupted_transfer_is_resumed(
    tmp_path: Path, corpus: CatalogueCorpus, publisher: Publisher
) -> None:
    publisher.break_off_after = [70_001, 30_011]
    get(corpus, tmp_path)
    assert held(tmp_path) == CONTENT
    assert publisher.asked[:3] == [None, "bytes=70001-", "bytes=100012-"]


def test_a_later_call_resumes_an_interrupted_transfer(
    tmp_path: Path, corpus: CatalogueCorpus, publisher: Publisher
) -> None:
    publisher.break_off_after = [1009] * download.ATTEMPTS
    with pytest.raises(UserError, match=r"lost after 4,036 of 253,259 bytes .* again to resume"):
        get(corpus, tmp_path)
    assert set(held(tmp_path)) == {"train.de.gz.part"}
    get(corpus, tmp_path)
    assert held(tmp_path) == CONTENT
    assert publisher.asked[download.ATTEMPTS] == "bytes=4036-"


def test_a_server_without_ranges_sends_the_whole_file_again(
    tmp_path: Path, corpus: CatalogueCorpus, publisher: Publisher
) -> None:
    publisher.ranges = False
    publisher.break_off_after = [70_001]
    get(corpus, tmp_path)
    assert held(tmp_path) == CONTENT


def test_a_stale_part_is_discarded_and_downloaded_again(tmp_path: Path, corpus: CatalogueCorpus) -> None:
    (tmp_path / "train.de.gz.part").write_bytes(b"of another version")
    get(corpus, tmp_path)
    assert held(tmp_path) == CONTENT


def test_a_complete_part_is_renamed_without_a_download(
    tmp_path: Path, corpus: CatalogueCorpus, publisher: Publisher
) -> None:
    for name, body in CONTENT.items():
        (tmp_path / f"{name}.part").write_bytes(body)
    get(corpus, tmp_path)
    assert held(tmp_path) == CONTENT
    assert not publisher.asked


@pytest.mark.parametrize("more", [b"", b"more"])
def test_a_part_that_cannot_become_the_file_is_downloaded_again(
    tmp_path: Path, corpus: CatalogueCorpus, publisher: Publisher, more: bytes
) -> None:
    whole = CONTENT["train.de.gz"]
    (tmp_path / "train.de.gz.part").write_bytes(b"x" * len(whole) + more)
    get(corpus, tmp_path)
    assert held(tmp_path) == CONTENT
    assert publisher.asked == [None, None]


def test_a_part_found_wrong_at_the_last_attempt_is_an_error(
    tmp_path: Path, corpus: CatalogueCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    (tmp_path / "train.de.gz.part").write_bytes(b"of another version")
    with pytest.raises(UserError, match=r"after 0 of 253,259 bytes"):
        get(corpus, tmp_path)
    assert not held(tmp_path)


@pytest.mark.parametrize("wrong", [b"x" * len(CONTENT["train.en.gz"]), CONTENT["train.en.gz"] + b"more"])
def test_wrong_contents_are_refused_and_not_kept(
    tmp_path: Path, corpus: CatalogueCorpus, publisher: Publisher, wrong: bytes
) -> None:
    publisher.content["train.en.gz"] = wrong
    with pytest.raises(UserError, match="SHA-256"):
        get(corpus, tmp_path)
    assert set(held(tmp_path)) == {"train.de.gz"}


def test_a_missing_page_is_an_error_with_its_url(
    tmp_path: Path, corpus: CatalogueCorpus, publisher: Publisher
) -> None:
    del publisher.content["train.de.gz"]
    with pytest.raises(
        UserError, match=r"http://127.0.0.1:\d+/train.de.gz: cannot be downloaded \(Not Found\)"
    ):
        get(corpus, tmp_path)
    assert not held(tmp_path)


def test_a_missing_network_is_an_error_with_a_remedy(tmp_path: Path, corpus: CatalogueCorpus) -> None:
    nobody = replace(corpus, url="http://127.0.0.1:1/")
    with pytest.raises(UserError, match=r"Connection refused.*--from FOLDER"):
        get(nobody, tmp_path)
    assert not held(tmp_path)


def test_a_full_disk_is_an_error_and_leaves_nothing(
    tmp_path: Path, corpus: CatalogueCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(download, "sync", full)
    with pytest.raises(UserError, match=r"No space left on device.*--to"):
        get(corpus, tmp_path)
    assert not held(tmp_path)


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path, corpus: CatalogueCorpus) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        get(corpus, tmp_path / "file" / "to")


def test_a_file_of_the_same_name_is_not_overwritten(tmp_path: Path, corpus: CatalogueCorpus) -> None:
    (tmp_path / "train.de.gz").write_bytes(b"mine")
    with pytest.raises(UserError, match="not the file of toy: its SHA-256 differs"):
        get(corpus, tmp_path)
    assert held(tmp_path) == {"train.de.gz": b"mine"}


def test_files_are_copied_from_a_folder_and_verified(
    tmp_path: Path, corpus: CatalogueCorpus, publisher: Publisher
) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for name, body in CONTENT.items():
        (shelf / name).write_bytes(body)
    get(corpus, tmp_path / "to", source=shelf)
    assert held(tmp_path / "to") == CONTENT
    (shelf / "train.en.gz").write_bytes(b"another")
    with pytest.raises(UserError, match="unexpected contents"):
        get(corpus, tmp_path / "to2", source=shelf)
    (shelf / "train.en.gz").unlink()
    with pytest.raises(UserError, match="no such file"):
        get(corpus, tmp_path / "to2", source=shelf)
    assert set(held(tmp_path / "to2")) == {"train.de.gz"}
    assert not publisher.asked


def test_a_corpus_without_a_url_is_refused_with_instructions(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"tatoeba-de-en: .* manythings.org/anki.*--from FOLDER"):
        get(corpus_named("tatoeba-de-en"), tmp_path)


def test_an_unknown_corpus_is_refused_with_the_list_of_corpora() -> None:
    with pytest.raises(UserError, match="multi30k, tatoeba-de-en, ko-en"):
        corpus_named("multi31k")


def test_every_corpus_has_a_url_or_instructions() -> None:
    for data in CORPORA.values():
        assert data.url or data.instructions
        assert data.files
        for file in data.files:
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.size > 0


def test_the_remedy_for_a_missing_corpus_file_names_the_command() -> None:
    assert "multihead data get multi30k" in remedy_for_missing(Path("some/where/train.de.gz"))
    assert "--data.dir" in remedy_for_missing(Path("train.de.gz"))
    assert "data get" not in remedy_for_missing(Path("my.txt"))
    assert "data get" not in remedy_for_missing(Path("mine/input.txt"))
    shakespeare, reviews = Path("data/tinyshakespeare/input.txt"), Path("unlabelled_neutral.txt.gz")
    assert remedy_for_missing(shakespeare).endswith("multihead data get tinyshakespeare.")
    assert remedy_for_missing(reviews).endswith("multihead data get nsmc --from FOLDER.")
    # A common file name: only the folder shows that it belongs to the corpus.
    assert "data get" not in remedy_for_missing(Path("mine/train.de"))
    assert "multihead split" in remedy_for_missing(Path("data/tatoeba-de-en/train.de"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data/multi30k")
def test_multi30k_is_copied_from_the_shared_folder(tmp_path: Path) -> None:
    get(corpus_named("multi30k"), tmp_path, source=SHARED)
    assert {path.name for path in tmp_path.iterdir()} == {
        file.name for file in corpus_named("multi30k").files
    }
