"""LibreTranslate's routes over a socket, with translators that reverse lines."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, cast

import pytest
from serving import SLOW, post, reversing, send, service, upper
from starlette.requests import ClientDisconnect, Request

from multihead.apps.serve import service as service_module
from multihead.apps.serve.app import Serving
from multihead.apps.serve.corrections import HEADING, Corrections
from multihead.apps.serve.glossaries import Glossaries
from multihead.apps.serve.handling import RequestLimits, while_connected
from multihead.apps.serve.page_routes import MAX_INSPECTIONS
from multihead.apps.serve.service import ServedDirection, Service
from multihead.errors import UserError
from multihead.text import identify
from multihead.text.terms import Glossary, Term

FORM = "application/x-www-form-urlencoded; charset=utf-8"
MULTIPART = "multipart/form-data; boundary=x"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Yield the address of a server for German to English and French."""
    terms = Glossaries({"short": Glossary([Term("a", "a", ("a",), ("a",), "smart", "", "short:1")])})
    serving = Serving(limits=RequestLimits(chars=50), origin="https://a.b", glossaries=terms)
    with reversing(("de", "en"), ("de", "fr"), serving=serving, translate_document=upper) as at:
        yield at


def translate(address: str, **fields: object) -> tuple[int, dict[str, object]]:
    status, answer = post(f"{address}/translate", target="en", **fields)
    answer.pop("confidence", None)
    answer.pop("detectedLanguage", None)
    answer.pop("message", None)
    return status, answer


def test_a_text_is_answered_with_a_text_and_a_list_with_a_list(address: str) -> None:
    assert translate(address, q="abc", source="de") == (200, {"translatedText": "cba"})
    assert translate(address, q=["ab", "", "x\r\n\ny z"]) == (
        200,
        {"translatedText": ["ba", "", "x\r\n\nz y"]},
    )
    assert translate(address, q=[]) == (200, {"translatedText": []})


def test_texts_are_translated_sentence_by_sentence_and_keep_their_spaces(address: str) -> None:
    assert translate(address, q="Das ist gut.  Ja!")[1] == {"translatedText": ".tug tsi saD  !aJ"}


@pytest.mark.parametrize("code", ["de", "DE", "de-DE", "de_AT", "ger", "deu"])
def test_codes_are_taken_as_people_send_them(address: str, code: str) -> None:
    status, answer = post(f"{address}/translate", q="ab", source=code, target="EN-us")
    assert (status, answer["translatedText"]) == (200, "ba")


def test_json_forms_multipart_and_query_strings_say_the_same(address: str) -> None:
    def answer(body: bytes, kind: str | None, query: str = "") -> object:
        return json.loads(send(f"{address}/translate{query}", body, kind)[1])["translatedText"]

    assert answer("q=ä+%C3%B6&target=en".encode(), FORM) == "ö ä"
    assert answer(b"q=ab&q=cd&target=en", FORM) == ["ba", "dc"]
    assert answer(b' {"q": "ab", "target": "en"}', FORM) == "ba"
    parts = [
        b'--x\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % pair
        for pair in ((b"q", "ö a".encode()), (b"target", b"en"))
    ]
    assert answer(b"".join(parts) + b"--x--\r\n", MULTIPART) == "a ö"
    assert answer(b"", None, "?q=ab&source=de&target=en&format=text&api_key=unused") == "ba"
    assert answer(b"target=en", FORM, "?q=ab") == "ba"


@pytest.mark.parametrize(
    ("body", "kind", "status", "fact"),
    [
        (b'{"q": ', "application/json", 400, "not JSON"),
        (b"[" * 10_000, "application/json", 413, "larger than"),
        (b"[" * 3_000, "application/json", 400, "not JSON"),
        (b'"\xff"', "application/json", 400, "not JSON"),
        (b"[1]", "application/json", 400, "must be a JSON object"),
        (b"q=%ff", FORM, 400, "not UTF-8"),
        (b"q=a&" + b"x=1&" * 1100, FORM, 413, "1,000 fields"),
        (b"--x\r\nno header\r\n\r\n", MULTIPART, 400, "malformed"),
        (b"--x", "multipart/form-data", 400, "malformed"),
        (b"--x", "multipart/mixed", 415, "multipart/mixed is not supported"),
        (b'{"q": "' + b"a" * 51 + b'"}', "application/json", 413, "more than 50 characters"),
        (b'{"q": "a", "source": "\\ud800"}', "application/json", 400, "must be a language code"),
        (b'{"q": "a", "target": "ko"}', "application/json", 400, "translates de to en, de to fr"),
        (b'{"q": "a"}', "application/json", 400, '"target" must be named'),
        (b'{"q": "a", "target": "en", "beam": 3}', "application/json", 400, 'unknown field "beam"'),
        (b'{"q": "a", "target": "en", "glossary": "x"}', "application/json", 404, "no such glossary"),
        (b'{"q": "broken", "target": "en"}', "application/json", 500, "scores are not finite"),
        (b'{"q": "' + b"a" * 31 + b'", "target": "en"}', "application/json", 400, "sentence 1: too long"),
    ],
)
def test_an_invalid_request_gets_an_error_with_its_reason(
    address: str, body: bytes, kind: str, status: int, fact: str
) -> None:
    code, answer, _ = send(f"{address}/translate", body, kind)
    assert code == status
    assert fact in json.loads(answer)["error"]
    assert json.loads(answer)["message"] == json.loads(answer)["error"]


def test_a_field_given_twice_is_refused(address: str) -> None:
    status, answer, _ = send(f"{address}/translate?q=a", b"q=b&target=en", FORM)
    assert (status, '"q" is both' in json.loads(answer)["error"]) == (400, True)


def test_alternatives_are_the_next_best_of_each_sentence(address: str) -> None:
    answer = {"translatedText": "bA\n\nc", "alternatives": ["BA\n\nC", "ba\n\nC"]}
    assert translate(address, q="Ab\n\nc", alternatives=2) == (200, answer)
    assert translate(address, q=["Ab"], alternatives=1)[1]["alternatives"] == [["BA"]]


def test_html_keeps_its_tags_and_notes_name_the_sentence(address: str) -> None:
    found = translate(address, q="<p>ab</p><br><p>cd</p>", format="html")[1]
    assert found == {"translatedText": "<p>ba</p><br><p>dc</p>"}
    answer = translate(address, q="cut")[1]
    assert answer.pop("review") == [{"place": "sentence 1", "reason": "cut"}]
    assert answer == {"translatedText": "tuc", "notes": ["sentence 1: cut"]}


def test_a_glossary_that_is_named_must_exist(address: str) -> None:
    assert translate(address, q="a", glossary="short") == (200, {"translatedText": "a"})


def test_languages_are_detected_and_listed(address: str) -> None:
    languages = json.loads(send(f"{address}/languages")[1])
    assert languages == [
        {"code": "de", "name": "German", "targets": ["en", "fr"]},
        {"code": "en", "name": "English", "targets": []},
        {"code": "fr", "name": "French", "targets": []},
    ]
    if not identify.available():
        pytest.skip("py3langid is not installed")
    found = post(f"{address}/detect", q="Wie geht es dir heute, mein Freund?")[1]
    assert found[0]["language"] == "de"
    assert found[0]["confidence"] > 90
    assert post(f"{address}/detect", q="123") == (200, [])
    answer = post(f"{address}/translate", q="Wie geht es dir?", source="auto", target="en")[1]
    assert answer["detectedLanguage"]["language"] == "de"


def test_auto_chooses_the_direction_that_starts_from_the_text_s_language() -> None:
    if not identify.available():
        pytest.skip("py3langid is not installed")
    with reversing(("de", "en"), ("ko", "en")) as address:
        answer = post(f"{address}/translate", q=["안녕하세요, 오늘은 날씨가 좋습니다."], source="auto")[1]
        assert answer["detectedLanguage"] == [{"confidence": 100.0, "language": "ko"}]
        german = post(f"{address}/sentences", q="Heute ist das Wetter schön.")[1]
        assert (german["source"], german["sentences"][0]["text"]) == ("de", ".nöhcs retteW sad tsi etueH")


def test_corrections_are_kept_where_that_is_allowed(address: str, tmp_path: Path) -> None:
    fields = {"q": "der Hund", "s": "the dog", "source": "de", "target": "en"}
    status, answer = post(f"{address}/suggest", **fields)
    assert (status, "--corrections" in answer["error"]) == (403, True)
    path = tmp_path / "corrections.tsv"
    for _ in range(2):  # a second server goes on with the file
        with reversing(serving=Serving(corrections=Corrections(path))) as own:
            assert post(f"{own}/suggest", **fields) == (200, {"success": True})
            assert post(f"{own}/suggest", **{**fields, "s": "a\tb"})[0] == 400
            assert post(f"{own}/suggest", **{**fields, "q": " "})[0] == 400
            assert json.loads(send(f"{own}/frontend/settings")[1])["suggestions"] is True
    assert path.read_text() == HEADING + "der Hund\tthe dog\tde\ten\n" * 2


def test_a_correction_cut_by_a_power_failure_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "corrections.tsv"
    path.write_text(HEADING + "der Hu")
    Corrections(path).add("eins", "one", "de", "en")
    assert path.read_text().splitlines()[1:] == ["der Hu", "eins\tone\tde\ten"]
    path.write_text("another file\n")
    with pytest.raises(UserError, match="not a file of corrections"):
        Corrections(path)


def upload(address: str, name: str, content: bytes) -> tuple[int, dict[str, Any]]:
    fields = b'--x\r\nContent-Disposition: form-data; name="source"\r\n\r\nde\r\n'
    fields += b'--x\r\nContent-Disposition: form-data; name="target"\r\n\r\nen\r\n'
    file = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    status, answer, _ = send(
        f"{address}/translate_file", fields + file + content + b"\r\n--x--\r\n", MULTIPART
    )
    return status, json.loads(answer)


def test_a_document_is_translated_and_downloaded(address: str) -> None:
    status, answer = upload(address, "../../letter ä.txt", b"abc")
    assert status == 200
    status, content, headers = send(answer["translatedFileUrl"])
    assert (status, content) == (200, "ABC")
    assert headers["content-disposition"] == 'attachment; filename="letter _.en.txt"'
    assert send(f"{address}/download_file/nothing")[0] == 404
    assert "cautions" not in answer
    xliff = upload(address, "a.xlf", b"abc")[1]
    assert xliff["cautions"] == ["names another language"]
    assert xliff["review"] == [{"place": "a.xlf:3", "reason": "low confidence"}]
    assert xliff["reviewCount"] == 1
    assert upload(address, "virus.exe", b"abc")[0] == 400
    assert upload(address, "messages.po", b"abc") == (
        400,
        {"error": "messages.po: malformed", "message": "messages.po: malformed"},
    )
    assert post(f"{address}/translate_file", file="abc")[0] == 400


FRENCH = "Le petit chien court vite. Il aime la grande forêt."


def test_a_text_of_another_language_is_refused_or_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("py3langid")
    with reversing(("de", "en"), ("de", "fr"), translate_document=upper) as at:
        status, answer = post(f"{at}/translate", q=FRENCH, source="auto", target="en")
        assert status == 400
        fact = "the text is in French, as it seems; this server translates de to en, de to fr"
        assert answer["error"] == fact
        assert post(f"{at}/sentences", q=FRENCH, source="auto", target="en")[1]["error"] == fact
        monkeypatch.setattr(service_module, "foreign", lambda results, source: f"not {source}")
        status, answer = post(f"{at}/translate", q=[FRENCH, "ab"], source="de", target="en")
        assert (status, answer["notes"]) == (200, ["text 1, not de", "text 2, not de"])
        assert upload(at, "a.txt", FRENCH.encode())[0] == 200
    with reversing(("de", "en"), ("fr", "en")) as at:
        answer = post(f"{at}/translate", q=FRENCH, source="auto", target="en")[1]
        assert answer["detectedLanguage"]["language"] == "fr"


def test_sentences_to_review_are_listed_with_their_reasons(address: str) -> None:
    answer = post(f"{address}/translate", q="ab. cut", source="de", target="en")[1]
    assert {"place": "sentence 2", "reason": "cut"} in answer["review"]
    assert "review" not in post(f"{address}/translate", q="ab", source="de", target="en")[1]


def test_settings_health_page_and_inspection_routes(address: str) -> None:
    settings = json.loads(send(f"{address}/frontend/settings")[1])
    assert (settings["charLimit"], settings["keyRequired"], settings["suggestions"]) == (50, False, False)
    assert ".docx" in settings["supportedFilesFormat"]
    assert json.loads(send(f"{address}/health")[1]) == {"status": "ok"}
    _, page, headers = send(f"{address}/")
    assert "<textarea" in page
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert send(f"{address}/assets/page.js")[2]["content-type"].startswith("text/javascript")
    assert [send(f"{address}/assets/{name}")[0] for name in ("app.py", "..%2fapp.py", "page.html")] == [
        404
    ] * 3
    assert send(f"{address}/inspect?q=Guten%20Tag&target=fr")[:2] == (200, "<p>runs/de-fr: 9")
    assert send(f"{address}/inspect?q=&target=fr")[0] == 400
    assert "the sentence has no words" in send(f"{address}/inspect?q=_&target=fr")[1]
    assert send(f"{address}/inspect?q={'a' * 501}&target=fr")[0] in (400, 413)
    assert json.loads(send(f"{address}/nothing")[1])["error"] == "there is no /nothing"
    assert json.loads(send(f"{address}/translate")[1])["error"] == "/translate does not accept GET"


def test_the_number_of_concurrent_inspections_is_limited(address: str) -> None:
    SLOW.clear()
    with ThreadPoolExecutor(MAX_INSPECTIONS + 3) as pool:
        requests = [
            pool.submit(send, f"{address}/inspect?q=slow&target=fr") for _ in range(MAX_INSPECTIONS + 3)
        ]
        answers = as_completed(requests, timeout=30)
        assert [next(answers).result()[0] for _ in range(3)] == [503] * 3
        SLOW.set()
        assert [one.result()[0] for one in answers] == [200] * MAX_INSPECTIONS
    assert send(f"{address}/inspect?q=Tag&target=fr")[0] == 200


def test_two_translators_of_the_same_languages_are_a_user_error() -> None:
    with service(("de", "en")) as served:
        (one,) = served.directions
        again = ServedDirection("runs/other", "de", "en", one.texts, one.settings)
        with pytest.raises(UserError, match="runs/de-en and runs/other both translate from de to en"):
            Service([one, again], served.queue)


def test_a_request_is_cancelled_when_its_client_disconnects() -> None:
    class Disconnected:
        async def is_disconnected(self) -> bool:
            return True

    async def slow() -> str:
        await asyncio.sleep(60)
        return "late"

    async def fast() -> str:
        return "in time"

    with pytest.raises(ClientDisconnect):
        asyncio.run(while_connected(cast(Request, Disconnected()), slow()))
    assert asyncio.run(while_connected(cast(Request, Disconnected()), fast())) == "in time"
