"""Translations of documents that were interrupted, killed, or spoilt on the way."""

import json
import os
import signal
from pathlib import Path

import pytest
from capitals import capital_translator, written

from multihead.apps.documents import translating_documents
from multihead.apps.documents.translating_documents import DocumentRequest, translate_document
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.tasks.translation.texts.text_translator import TextTranslator


@pytest.fixture(scope="module")
def translator() -> TextTranslator:
    return capital_translator()


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translating_documents, "CHUNK", 1)


class StoppedError(Exception):
    pass


@pytest.mark.usefixtures("small_chunks")
def test_an_interrupted_translation_resumes(translator: TextTranslator, tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "".join(f"Satz {number} hier.\n" for number in range(7)))
    done: list[int] = []

    def stop(count: int, total: int | None) -> None:
        done.append(count)
        if count == 3:
            raise StoppedError

    request = DocumentRequest(path, tmp_path / "out.txt", SearchSettings())
    with pytest.raises(StoppedError):
        translate_document(request, translator, [], progress=stop)
    assert not request.output.exists()
    journal = tmp_path / ".out.txt.progress"
    assert len(journal.read_text().split("\n")) == 5
    with journal.open("ab") as file:
        file.write(b'{"number": 3, "target": ["torn')
    summary = translate_document(request, translator, [])
    assert (summary.translated, summary.resumed) == (7, 3)
    assert request.output.read_text() == path.read_text().upper()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.txt", "out.txt"]


@pytest.mark.usefixtures("small_chunks")
def test_a_killed_translation_resumes(translator: TextTranslator, tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "".join(f"Satz {number} hier.\n" for number in range(7)))
    request = DocumentRequest(path, tmp_path / "out.txt", SearchSettings())

    def killed(count: int, total: int | None) -> None:
        if count == 4:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        translate_document(request, translator, [], progress=killed)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert not request.output.exists()
    assert translate_document(request, translator, []).resumed == 4
    assert request.output.read_text() == path.read_text().upper()


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("change", ["document", "settings"])
def test_a_journal_of_something_else_is_discarded(
    translator: TextTranslator, tmp_path: Path, change: str
) -> None:
    path = written(tmp_path, "a.txt", "Eins.\nZwei.\n")
    journal = tmp_path / ".out.txt.progress"

    def stop(count: int, total: int | None) -> None:
        if count == 1:
            raise StoppedError

    request = DocumentRequest(path, tmp_path / "out.txt", SearchSettings())
    with pytest.raises(StoppedError):
        translate_document(request, translator, [], progress=stop)
    assert journal.exists()
    if change == "document":
        written(tmp_path, "a.txt", "Drei.\nZwei.\n")
    else:
        request = DocumentRequest(path, tmp_path / "out.txt", SearchSettings(beam_size=3))
    assert translate_document(request, translator, []).resumed == 0
    assert request.output.read_text() == path.read_text().upper()


@pytest.mark.usefixtures("small_chunks")
def test_spoilt_lines_of_a_journal_are_translated_again(translator: TextTranslator, tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "Eins.\nZwei.\nDrei.\n")

    def stop(count: int, total: int | None) -> None:
        if count == 3:
            raise StoppedError

    request = DocumentRequest(path, tmp_path / "out.txt", SearchSettings())
    with pytest.raises(StoppedError):
        translate_document(request, translator, [], progress=stop)
    journal = tmp_path / ".out.txt.progress"
    head, *records = journal.read_text().splitlines()
    spoilt = [
        records[0],
        json.dumps({"number": 99, "target": []}),
        json.dumps({"number": 1, "target": [["9", "open"]]}),
    ]
    journal.write_text("\n".join([head, *spoilt, "5", records[2], ""]))
    assert translate_document(request, translator, []).resumed == 1
    assert request.output.read_text() == path.read_text().upper()


def test_two_processes_never_write_one_output(translator: TextTranslator, tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "Eins.\n")
    request = DocumentRequest(path, tmp_path / "out.txt", SearchSettings())

    def again(count: int, total: int | None) -> None:
        with pytest.raises(UserError, match="another process"):
            translate_document(request, translator, [])

    translate_document(request, translator, [], progress=again)
