"""The library of documents behind its gateway: its errors are ours, and its tags come back."""

from pathlib import Path

import pytest

from multihead.apps.serve import service
from multihead.apps.serve.refusal import RefusedError
from multihead.data import documents
from multihead.data.documents import bilingual, library
from multihead.errors import UserError
from multihead_documents import DocumentError
from multihead_documents import open_document as open_with_library


def test_an_error_of_the_library_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"PK\x03\x04broken")
    with pytest.raises(DocumentError) as theirs:
        open_with_library(path)
    with pytest.raises(UserError) as ours:
        library.open_document(path)
    assert (str(ours.value), ours.value.code) == (str(theirs.value), theirs.value.code)
    assert ours.value.__cause__ is not None


def test_another_encoding_is_guessed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("eins\nEin schöner Tag\n".encode("latin-1"))
    with pytest.raises(UserError, match=r'a\.txt:2: not UTF-8 .*encoding \(cp1252, if "Ein schöner Tag" is'):
        library.open_document(path)


def test_every_function_raises_user_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("eins\n")
    document = library.open_document(path)
    with pytest.raises(UserError, match="cannot be written"):
        library.write(document, {0: "one"}, tmp_path / "none" / "b.txt")
    with pytest.raises(UserError, match="Endings"):
        library.format_of("a")
    with pytest.raises(UserError, match="not a bilingual file"):
        list(bilingual.read_pairs(path, "de", "en"))
    with pytest.raises(UserError, match="not a subtitle file"):
        list(bilingual.subtitle_pairs(path, path))


def test_tags_of_a_segment_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<p>eins <b>zwei<br>drei</b></p>")
    document = library.open_document(path)
    (segment,) = document.segments
    text = library.to_translate(segment.source)
    assert text.text == segment.source.text
    assert library.render(document, {0: library.to_document(text)}) == path.read_bytes()


def test_a_server_without_the_library_refuses_html(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "is_installed", lambda: False)
    options = service.Options(format="html")
    with pytest.raises(RefusedError, match="HTML: multihead-documents is not installed") as refused:
        service.refuse_html_without_library(options)
    assert refused.value.status == 501
    service.refuse_html_without_library(service.Options())


def test_a_missing_module_of_another_name_is_reported_as_it_is() -> None:
    with pytest.raises(ModuleNotFoundError):
        documents.about_documents("multihead.no_such_module", "a.txt")
