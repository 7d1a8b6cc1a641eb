"""Published clients of LibreTranslate and DeepL, unmodified."""

import io
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serving import reversing, send, upper

from multihead.apps.serve.access import ApiKeys, Rate
from multihead.apps.serve.app import Serving
from multihead.apps.serve.corrections import Corrections

KEY = "a-key-that-nobody-can-guess"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server that needs a key."""
    folder = tmp_path_factory.mktemp("clients")
    (folder / "keys.txt").write_text(f"shop {KEY}\n")
    serving = Serving(keys=ApiKeys.load(folder / "keys.txt"), corrections=Corrections(folder / "c.tsv"))
    with reversing(("de", "en"), ("en", "de"), serving=serving, translate_document=upper) as at:
        yield at


def test_libretranslatepy(address: str) -> None:
    library: Any = pytest.importorskip("libretranslatepy")
    client = library.LibreTranslateAPI(address, api_key=KEY)
    assert client.translate("Guten Tag!", "de", "en") == "!gaT netuG"
    assert client.languages()[0] == {"code": "de", "name": "German", "targets": ["en"]}
    assert client.detect("Wie geht es dir heute?")[0]["language"] == "de"
    with pytest.raises(Exception, match="403"):
        library.LibreTranslateAPI(address).translate("Guten Tag!", "de", "en")


def test_deep_translator(address: str) -> None:
    library: Any = pytest.importorskip("deep_translator")
    client = library.LibreTranslator(source="de", target="en", custom_url=f"{address}/", api_key=KEY)
    assert client.translate("Guten Tag, schöne Welt!") == "!tleW enöhcs ,gaT netuG"
    assert client.translate_batch(["eins", "zwei"]) == ["snie", "iewz"]
    wrong = library.LibreTranslator(source="de", target="en", custom_url=f"{address}/", api_key=f"{KEY}x")
    with pytest.raises(library.exceptions.AuthorizationException):
        wrong.translate("Guten Tag!")


def test_libretranslate_aio(address: str) -> None:
    library: Any = pytest.importorskip("libretranslate_aio")
    with library.LibreTranslate(address, api_key=KEY) as client:
        found = client.translate(["Ab", "Cd"], "auto", "en", alternatives=1)
        assert found.translated_text == ["bA", "dC"]
        assert found.alternatives == [["BA"], ["DC"]]
        assert {one.language for one in found.detected_language} == {"de"}
        assert client.translate("Ab", "DE", "en").translated_text == "bA"
        assert [one.code for one in client.languages()] == ["de", "en"]
        assert client.detect("Wie geht es dir heute?")[0].language == "de"
        assert client.suggest("Hund", "dog", "de", "en")
        settings = client.frontend_settings()
        assert (settings.char_limit, settings.key_required, settings.suggestions) == (20_000, True, True)
        assert client.health()
        file = io.BytesIO(b"hallo")
        file.name = "a.txt"
        found = client.translate_file(file, "de", "en")
        assert send(found.translated_file_url)[1] == "HALLO"
        with pytest.raises(library.BadRequestError, match="no translator"):
            client.translate("a", "ko", "en")
    with library.LibreTranslate(address) as client, pytest.raises(library.ForbiddenError):
        client.translate("a", "de", "en")


def test_a_client_is_told_to_slow_down() -> None:
    library: Any = pytest.importorskip("libretranslate_aio")
    with reversing(serving=Serving(requests=Rate(1, "requests"))) as at, library.LibreTranslate(at) as client:
        client.translate("a", "de", "en")
        with pytest.raises(library.RateLimitError, match="more than 1 requests a minute"):
            client.translate("a", "de", "en")


def test_deepl(address: str) -> None:
    library: Any = pytest.importorskip("deepl")
    client = library.DeepLClient(KEY, server_url=address)
    one, other = client.translate_text(["Guten Tag!", "Ja. Nein."], target_lang="EN-GB")
    assert (one.text, one.detected_source_lang, one.billed_characters) == ("!gaT netuG", "DE", 10)
    assert other.text == ".aJ .nieN"
    html = client.translate_text("<p>ab</p>", source_lang="DE", target_lang="EN-US", tag_handling="html")
    assert html.text == "<p>ba</p>"
    assert [one.code for one in client.get_source_languages()] == ["DE", "EN"]
    assert [one.code for one in client.get_target_languages()] == ["EN", "DE"]
    assert client.get_usage().character.count > 0
    with pytest.raises(library.DeepLException, match="formality"):
        client.translate_text("a", target_lang="DE", source_lang="EN", formality="more")
    with pytest.raises(library.AuthorizationException):
        library.DeepLClient(f"{KEY}x", server_url=address).translate_text("a", target_lang="EN-GB")


def test_deepl_documents(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = pytest.importorskip("deepl")
    client = library.DeepLClient(KEY, server_url=address)
    clock = SimpleNamespace(time=time.time, sleep=lambda seconds: time.sleep(0.01))
    monkeypatch.setattr("deepl.translator.time", clock)
    (tmp_path / "a.txt").write_text("hallo")
    files = tmp_path / "a.txt", tmp_path / "a.en.txt"
    status = client.translate_document_from_filepath(*files, source_lang="DE", target_lang="EN-US")
    assert (status.done, status.billed_characters) == (True, 5)
    assert files[1].read_text() == "HALLO"
    with pytest.raises(library.DocumentTranslationException, match=r"messages\.po: malformed") as caught:
        client.translate_document(b"a", io.BytesIO(), target_lang="DE", filename="messages.po")
    handle = caught.value.document_handle
    with pytest.raises(library.DeepLException, match="Bad request"):
        client.translate_document_download(handle)
    with pytest.raises(library.DeepLException, match="no such document"):
        client.translate_document_get_status(library.DocumentHandle(handle.document_id, "wrong"))
    with pytest.raises(library.DeepLException, match="output_format"):
        client.translate_document_upload(b"a", target_lang="EN-US", filename="a.txt", output_format="pdf")
    with pytest.raises(library.DeepLException, match="not supported"):
        client.translate_document_upload(b"a", target_lang="EN-US", filename="a.exe")


def test_deepl_with_a_glossary(address: str) -> None:
    library: Any = pytest.importorskip("deepl")
    client = library.DeepLClient(KEY, server_url=address)
    glossary = client.create_glossary("terms", "DE", "EN", {"Ab": "bA"})
    assert [one.name for one in client.list_glossaries()] == ["terms"]
    assert client.get_glossary(glossary.glossary_id).entry_count == 1
    assert client.get_glossary_entries(glossary) == {"Ab": "bA"}
    found = client.translate_text("Ab", source_lang="DE", target_lang="EN-GB", glossary=glossary)
    assert found.text == "bA"
    client.delete_glossary(glossary)
    with pytest.raises(library.GlossaryNotFoundException):
        client.get_glossary(glossary.glossary_id)
    assert [one.source_lang for one in client.get_glossary_languages()] == ["de", "en"]
